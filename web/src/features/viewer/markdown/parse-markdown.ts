import type { Nodes } from 'hast';
import { defaultSchema, sanitize } from 'hast-util-sanitize';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { toHast } from 'mdast-util-to-hast';
import { gfm } from 'micromark-extension-gfm';
import type { MarkdownLabels } from '../worker/jobs.ts';
import { ID_PREFIX } from './id-prefix.ts';

/**
 * The elements of a text of GitHub's Markdown, without any of its HTML, and without what is not allowed on GitHub.
 * Its headings are one level lower, below that of the page.
 */
export function parseMarkdown(text: string, { footnotes, backToText }: MarkdownLabels): Nodes {
  const markdown = fromMarkdown(withoutFrontMatter(text), {
    extensions: [gfm()],
    mdastExtensions: [gfmFromMarkdown()],
  });
  // HTML is dropped here, unless it were asked for. Ids get their prefix once, below.
  const tree = toHast(markdown, { clobberPrefix: '', footnoteLabel: footnotes, footnoteBackLabel: backToText });
  prepareHeadings(tree, new Map());
  return sanitize(tree, { ...defaultSchema, clobberPrefix: ID_PREFIX });
}

/** Settings for programs that some put before the text, and that would be taken for a heading. */
function withoutFrontMatter(text: string): string {
  return text.replace(/^---\r?\n.*?\r?\n---\r?\n/s, '');
}

/** Lowers headings, and gives them the ids by which links within the text name them. */
function prepareHeadings(node: Nodes, taken: Map<string, number>): void {
  if (!('children' in node)) return;
  for (const child of node.children) {
    if (child.type !== 'element') continue;
    const level = /^h([1-6])$/.exec(child.tagName)?.[1];
    if (level !== undefined) {
      child.tagName = `h${Math.min(6, Number(level) + 1)}`;
      child.properties['id'] ??= uniqueId(slugOf(textOf(child)), taken);
    }
    prepareHeadings(child, taken);
  }
}

/** As GitHub makes them of headings. */
function slugOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-');
}

function uniqueId(slug: string, taken: Map<string, number>): string {
  const count = taken.get(slug) ?? 0;
  taken.set(slug, count + 1);
  return count === 0 ? slug : `${slug}-${count}`;
}

function textOf(node: Nodes): string {
  if (node.type === 'text') return node.value;
  return 'children' in node ? node.children.map(textOf).join('') : '';
}
