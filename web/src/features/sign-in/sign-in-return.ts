import type { Urls } from '../../platform/service/urls.ts';

/**
 * Whether the page came on the way of signing in by the provider, which failed then. If so, its address becomes that of
 * the place that one was on the way to, as far as that is known, so that whatever loads it anew leads there.
 */
export function returnFromProvider(urls: Urls): boolean {
  const place = returnUrl(urls, new URL(window.location.href));
  if (place === undefined) return false;
  history.replaceState(history.state, '', place);
  return true;
}

/** Returns the URL to which a sign-in page of the identity provider returns; undefined for all other pages. */
export function returnUrl(urls: Urls, here: URL): string | undefined {
  const ways = ['-/sign-in', '-/sign-in/callback'].map((path) => new URL(urls.endpoint(path)).pathname);
  if (!ways.includes(here.pathname)) return undefined;
  return placeBelow(urls.endpoint(''), here.searchParams.get('return') ?? '');
}

/** The URL of a place relative to the root, which is taken instead where it leads out, or to no place of the page. */
function placeBelow(root: string, place: string): string {
  const url = URL.parse(`./${place}`, root)?.href;
  return url?.startsWith(root) && !url.startsWith(`${root}-/`) ? url : root;
}
