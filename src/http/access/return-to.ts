import { quoted } from '../../domain/error.ts';
import { HttpError } from '../errors.ts';

/** Path of the OIDC callback, relative to the URL of the service. */
export const CALLBACK = '/-/sign-in/callback';

/** Maximum length of a return location in characters. It must fit into a cookie. */
const MAX_LENGTH = 2000;

/**
 * Returns the URL to open after sign-in, from a location relative to the root of the service. Throws 400 for a location
 * outside the service, because anyone can create such links. Returns the root for a location that is too long for a
 * cookie.
 */
export function returnUrl(publicUrl: string, place: string): URL {
  const root = new URL(`${publicUrl.replace(/(?<!\/)\/+$/, '')}/`);
  // Browsers treat a backslash as a slash and ignore control characters anywhere.
  const isRelative = !place.startsWith('/') && !/[\\\p{Cc}]/u.test(place);
  // Without `./`, a folder name with a colon would be parsed as a URL scheme (RFC 3986, section 4.2).
  const url = isRelative ? URL.parse(`./${place}`, root) : null;
  if (!url || url.origin !== root.origin || !url.pathname.startsWith(root.pathname)) {
    throw new HttpError(400, `The place to return to leads out of the service: ${quoted(place)}.`);
  }
  return place.length > MAX_LENGTH ? root : url;
}
