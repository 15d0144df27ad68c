import { posix } from 'node:path';
import { parsePage, type Reference } from './markdown.ts';

/** A link or image that leads nowhere. `line` counts from 1. */
interface Problem {
  readonly page: string;
  readonly line: number;
  readonly message: string;
}

const EXTERNAL = /^[a-z][a-z\d+.-]*:/i;

/**
 * Returns the links and images of Markdown pages that lead nowhere on GitHub: to missing files or anchors. URLs with a
 * scheme are not checked.
 *
 * @param pages the text of each page, by its path in the repository
 * @param exists whether the repository contains a file or folder
 */
export function checkLinks(pages: ReadonlyMap<string, string>, exists: (path: string) => boolean): Problem[] {
  const parsed = new Map(Array.from(pages, ([page, text]) => [page, parsePage(text)]));

  const problemOf = (page: string, reference: Reference): string | undefined => {
    const { kind, url } = reference;
    if (kind === 'image' && reference.text === '') return `The image ${url} has no alternative text.`;
    if (EXTERNAL.test(url)) return undefined;
    if (url.startsWith('/')) return `Make ${url} relative: npm and the docs site have no such path.`;
    const target = resolve(page, url);
    if (target === undefined) return `${url} is not a valid URL.`;
    if (!pages.has(target.path) && !exists(target.path)) return `${url}: ${target.path} does not exist.`;
    const anchors = parsed.get(target.path)?.anchors;
    if (anchors === undefined || target.anchor === '' || anchors.has(target.anchor)) return undefined;
    return `${url}: ${target.path} has no heading for #${target.anchor}.`;
  };

  return [...parsed].flatMap(([page, { references }]) =>
    references.flatMap((reference) => {
      const message = problemOf(page, reference);
      return message === undefined ? [] : [{ page, line: reference.line, message }];
    }),
  );
}

/** Returns the file and the anchor that a relative URL of a page leads to, or `undefined` if the URL is malformed. */
function resolve(page: string, url: string): { path: string; anchor: string } | undefined {
  const [location = '', anchor = ''] = url.split('#', 2);
  const path = location.split('?', 1)[0] ?? '';
  try {
    const target = path === '' ? page : posix.join(posix.dirname(page), decodeURIComponent(path));
    return { path: target.replace(/(?<=.)\/$/, ''), anchor: decodeURIComponent(anchor) };
  } catch {
    return undefined;
  }
}
