import { quoted } from '../../domain/error.ts';
import { HttpError } from '../errors.ts';

/** Where the provider sends people back to, below the address of the service. */
export const CALLBACK = '/-/sign-in/callback';

/** The longest place that is gone back to, in characters: it has to fit into a cookie. */
const MAX_LENGTH = 2000;

/**
 * The URL of a place that is given relative to the root of the service, to which somebody goes back after signing in.
 * Throws 400 for one that leads out of the service: anybody can make links with one. One that is too long for a cookie
 * is the root instead.
 */
export function returnUrl(publicUrl: string, place: string): URL {
  const root = new URL(`${publicUrl.replace(/(?<!\/)\/+$/, '')}/`);
  // Browsers take a backslash for a slash, and leave out control characters, wherever they stand.
  const isRelative = !place.startsWith('/') && !/[\\\p{Cc}]/u.test(place);
  // By itself, the name of a folder with a colon would be read as the scheme of a URL (RFC 3986, section 4.2).
  const url = isRelative ? URL.parse(`./${place}`, root) : null;
  if (!url || url.origin !== root.origin || !url.pathname.startsWith(root.pathname)) {
    throw new HttpError(400, `The place to return to leads out of the service: ${quoted(place)}.`);
  }
  return place.length > MAX_LENGTH ? root : url;
}
