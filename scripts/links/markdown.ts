import GithubSlugger from 'github-slugger';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';

type Root = ReturnType<typeof fromMarkdown>;
type Nodes = Root | Root['children'][number];

/** A link or image of a Markdown page. `url` is as written, and `line` counts from 1. */
export interface Reference {
  readonly kind: 'link' | 'image';
  readonly url: string;
  /** The text of a link, or the alternative text of an image. `undefined` if the page gives it elsewhere. */
  readonly text: string | undefined;
  readonly line: number;
}

/** What other pages can link to, and what this page links to. */
export interface ParsedPage {
  /** The anchors that GitHub gives to the headings, and the `id` and `name` attributes of HTML. */
  readonly anchors: ReadonlySet<string>;
  readonly references: readonly Reference[];
}

const HTML_ANCHOR = /\s(?:id|name)=["']([^"']+)["']/gi;
const HTML_URL = /\s(href|src|srcset)=["']([^"'\s]+)[^"']*["']/gi;

/** Parses Markdown as GitHub does. */
export function parseMarkdown(markdown: string): Root {
  return fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
}

/** Returns the anchors and references of a page. Code is neither. */
export function parsePage(markdown: string): ParsedPage {
  const anchors = new Set<string>();
  const references: Reference[] = [];
  const slugger = new GithubSlugger();
  const visit = (node: Nodes): void => {
    if (node.type === 'heading') anchors.add(slugger.slug(textOf(node)));
    if (node.type === 'html') for (const [, anchor = ''] of node.value.matchAll(HTML_ANCHOR)) anchors.add(anchor);
    references.push(...referencesOf(node));
    if ('children' in node) node.children.forEach(visit);
  };
  visit(parseMarkdown(markdown));
  return { anchors, references };
}

/** Returns the text of a node without its formatting. */
export function textOf(node: Nodes): string {
  if ('value' in node) return node.type === 'html' ? '' : node.value;
  return 'children' in node ? node.children.map(textOf).join('') : '';
}

function referencesOf(node: Nodes): Reference[] {
  const line = node.position?.start.line ?? 1;
  switch (node.type) {
    case 'link':
      return [{ kind: 'link', url: node.url, text: textOf(node), line }];
    case 'image':
      return [{ kind: 'image', url: node.url, text: node.alt ?? '', line }];
    case 'definition':
      return [{ kind: 'link', url: node.url, text: undefined, line }];
    case 'html':
      return Array.from(node.value.matchAll(HTML_URL), ([, attribute = '', url = '']) => {
        return { kind: attribute.toLowerCase() === 'href' ? 'link' : 'image', url, text: undefined, line };
      });
    default:
      return [];
  }
}
