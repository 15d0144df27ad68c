import { posix } from 'node:path';
import { parseMarkdown } from './markdown.ts';

type Node = ReturnType<typeof parseMarkdown>['children'][number];

/**
 * Makes the relative links and pictures of a page absolute, so that they work outside of the repository.
 *
 * @param markdown a page in the root folder of the repository
 * @param repository the address of the repository
 * @param tag the version of the linked files
 */
export function makeLinksAbsolute(markdown: string, repository: string, tag: string): string {
  const edits: { start: number; end: number; text: string }[] = [];
  const visit = (node: Node): void => {
    if ('children' in node) node.children.forEach(visit);
    if (node.type === 'html') {
      for (const match of node.value.matchAll(/(?<=\b(?:src|srcset)=")[^"\s]+(?=")/g)) {
        const [source] = match;
        if (isAbsolute(source)) continue;
        const start = (node.position?.start.offset ?? 0) + match.index;
        edits.push({ start, end: start + source.length, text: `${repository}/raw/${tag}/${posix.normalize(source)}` });
      }
    }
    if (node.type !== 'link' && node.type !== 'image' && node.type !== 'definition') return;
    if (isAbsolute(node.url)) return;
    const offset = node.position?.start.offset ?? 0;
    const index = markdown.slice(offset, node.position?.end.offset).lastIndexOf(node.url);
    if (index === -1) throw new Error(`The URL ${node.url} is written with escapes. Write it as it is.`);
    const start = offset + index;
    const kind = node.type === 'image' ? 'raw' : 'blob';
    const text = `${repository}/${kind}/${tag}/${posix.normalize(node.url)}`;
    edits.push({ start, end: start + node.url.length, text });
  };
  parseMarkdown(markdown).children.forEach(visit);
  let result = markdown;
  for (const { start, end, text } of edits.toSorted((a, b) => b.start - a.start)) {
    result = result.slice(0, start) + text + result.slice(end);
  }
  return result;
}

/** Returns whether a URL has a scheme, or leads to a heading of its own page. */
function isAbsolute(url: string): boolean {
  return /^([a-z][a-z\d+.-]*:|#)/i.test(url);
}
