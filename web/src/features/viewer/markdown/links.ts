/**
 * The target of a link or an image in a file: a path of the service (empty for the root), a fragment, or an external
 * URL.
 */
export type Destination =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'fragment'; readonly fragment: string }
  | { readonly kind: 'external'; readonly url: string };

export function resolveDestination(folder: string, reference: string): Destination | undefined {
  if (reference.startsWith('#')) return { kind: 'fragment', fragment: decoded(reference.slice(1)) ?? '' };
  if (reference.startsWith('//')) return { kind: 'external', url: `https:${reference}` };
  if (/^[a-z][a-z\d+.-]*:/i.test(reference)) return { kind: 'external', url: reference };

  const [pathname = ''] = reference.split(/[?#]/, 1);
  const path = decoded(pathname);
  if (path === undefined) return undefined;
  const segments = path.startsWith('/') ? [] : folder.split('/').slice(0, -1);
  for (const segment of path.split('/').slice(0, -1)) step(segments, segment);
  const last = path.split('/').at(-1) ?? '';
  if (last === '' || last === '.' || last === '..') {
    step(segments, last);
    return { kind: 'path', path: segments.map((segment) => `${segment}/`).join('') };
  }
  return { kind: 'path', path: [...segments, last].join('/') };
}

/** As in URLs, `..` in the root stays in the root. */
function step(segments: string[], segment: string): void {
  if (segment === '..') segments.pop();
  else if (segment !== '' && segment !== '.') segments.push(segment);
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The prefix of ids in a document, so that they can't collide with ids of the page. */
export const ID_PREFIX = 'user-content-';
