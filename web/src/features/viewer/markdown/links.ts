/**
 * What a link or an image in a file of `folder` leads to: a path of the service (empty for its root), or a place
 * elsewhere. Undefined where it is nothing that can be followed.
 */
type Destination =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'fragment'; readonly fragment: string }
  | { readonly kind: 'external'; readonly url: string };

export function resolveDestination(folder: string, reference: string): Destination | undefined {
  if (reference.startsWith('#')) return { kind: 'fragment', fragment: decoded(reference.slice(1)) ?? '' };
  if (reference.startsWith('//')) return { kind: 'external', url: `https:${reference}` };
  if (/^[a-z][a-z\d+.-]*:/i.test(reference)) return { kind: 'external', url: reference };

  const [given = ''] = reference.split(/[?#]/, 1);
  const path = decoded(given);
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

/** Above the root there is nothing, and one stays there, as in URLs. */
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

/** What the ids of a document begin with, so that they are none of the page's. */
export const ID_PREFIX = 'user-content-';
