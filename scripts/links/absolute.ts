import { posix } from 'node:path';
import { parseMarkdown } from './markdown.ts';

type Node = ReturnType<typeof parseMarkdown>['children'][number];

/** A relative URL in a page, with its offset. */
interface RelativeUrl {
  readonly url: string;
  readonly start: number;
  readonly isPicture: boolean;
}

const RELATIVE = /^(?![a-z][a-z\d+.-]*:|#|\/)./i;

/** An attribute with one URL. `srcset` can have a size after the URL. */
const HTML_URL = /\s(href|src|srcset)=["']([^"'\s,]+)(?:\s[^"',]*)?["']/gi;

/**
 * Makes the relative links and pictures of a page absolute, so that they work outside of the repository.
 *
 * @param markdown a page in the root folder of the repository
 * @param repository the address of the repository
 * @param tag the version of the linked files
 */
export function makeLinksAbsolute(markdown: string, repository: string, tag: string): string {
  const urls = parseMarkdown(markdown).children.flatMap((node) => relativeUrls(node, markdown));
  let result = markdown;
  for (const { url, start, isPicture } of urls.toSorted((a, b) => b.start - a.start)) {
    const absolute = `${repository}/${isPicture ? 'raw' : 'blob'}/${tag}/${posix.normalize(url)}`;
    result = result.slice(0, start) + absolute + result.slice(start + url.length);
  }
  return result;
}

/** Returns the relative URLs of a node and of the nodes in it. */
function relativeUrls(node: Node, markdown: string): RelativeUrl[] {
  const inner = 'children' in node ? node.children.flatMap((child) => relativeUrls(child, markdown)) : [];
  const offset = node.position?.start.offset ?? 0;
  if (node.type === 'html') return urlsOfHtml(node.value, offset);
  if (node.type !== 'link' && node.type !== 'image' && node.type !== 'definition') return inner;
  if (!RELATIVE.test(node.url)) return inner;
  const index = markdown.slice(offset, node.position?.end.offset).lastIndexOf(node.url);
  if (index === -1) throw new Error(`The URL ${node.url} is written with escapes. Write it as it is.`);
  return [...inner, { url: node.url, start: offset + index, isPicture: node.type === 'image' }];
}

function urlsOfHtml(html: string, offset: number): RelativeUrl[] {
  return Array.from(html.matchAll(HTML_URL), ({ 0: match, 1: attribute = '', 2: url = '', index }) => {
    return { url, start: offset + index + match.indexOf(url), isPicture: attribute.toLowerCase() !== 'href' };
  }).filter(({ url }) => RELATIVE.test(url));
}
