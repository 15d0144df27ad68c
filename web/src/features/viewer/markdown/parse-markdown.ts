import type { Element, ElementContent, Nodes, Root } from 'hast';
import { defaultSchema, sanitize } from 'hast-util-sanitize';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { toHast } from 'mdast-util-to-hast';
import { gfm } from 'micromark-extension-gfm';
import { highlightLines } from '../text/highlighter.ts';
import type { MarkdownLabels } from '../worker/jobs.ts';
import { ID_PREFIX } from './links.ts';

/** How much a page can draw without standing still, and without coming to the end of its stack. */
const MAX_NODES = 30_000;
const MAX_DEPTH = 150;

/**
 * The elements of a text of Markdown, its code coloured; `nothing` where none of them shows anything, as of a text that is
 * all HTML, and undefined where they are more than can be drawn.
 */
export function renderableMarkdown(text: string, labels: MarkdownLabels): Root | 'nothing' | undefined {
  const tree = parseMarkdown(text, labels);
  if (tree.type !== 'root' || !isRenderable(tree)) return undefined;
  if (!showsAnything(tree)) return 'nothing';
  highlightCode(tree);
  return isRenderable(tree) ? tree : undefined;
}

function isRenderable(tree: Nodes): boolean {
  let count = 0;
  const rest: { node: Nodes; depth: number }[] = [{ node: tree, depth: 0 }];
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { node, depth } = next;
    count += 1;
    if (count > MAX_NODES || depth > MAX_DEPTH) return false;
    if ('children' in node) for (const child of node.children) rest.push({ node: child, depth: depth + 1 });
  }
  return true;
}

function showsAnything(node: Nodes): boolean {
  if (node.type === 'text') return node.value.trim() !== '';
  if (node.type === 'element' && /^(img|hr|input)$/.test(node.tagName)) return true;
  return 'children' in node && node.children.some(showsAnything);
}

/** Colours code where the text says what language it is in. */
function highlightCode(node: Nodes): void {
  if (!('children' in node)) return;
  for (const child of node.children) {
    if (child.type === 'element' && child.tagName === 'code') colour(child);
    else highlightCode(child);
  }
}

function colour(code: Element): void {
  const [source] = code.children;
  const names = code.properties['className'];
  const language = Array.isArray(names) ? /^language-(\S+)$/.exec(String(names[0]))?.[1] : undefined;
  if (language === undefined || source?.type !== 'text') return;
  const lines = highlightLines(source.value, language.toLowerCase());
  if (!lines) return;
  code.children = lines.flatMap((line, index): ElementContent[] => [
    ...(index === 0 ? [] : [{ type: 'text' as const, value: '\n' }]),
    ...line.map(([className, value]): ElementContent => {
      const text = { type: 'text' as const, value };
      if (className === '') return text;
      return { type: 'element', tagName: 'span', properties: { className: className.split(' ') }, children: [text] };
    }),
  ]);
}

/**
 * The elements of a text of GitHub's Markdown, without any of its HTML, and without what is not allowed on GitHub.
 * Its headings are one level lower, below that of the page.
 */
function parseMarkdown(text: string, { footnotes, backToText }: MarkdownLabels): Nodes {
  const markdown = fromMarkdown(removeFrontMatter(text), {
    extensions: [gfm()],
    mdastExtensions: [gfmFromMarkdown()],
  });
  // HTML is dropped here, unless it were asked for. Ids get their prefix once, below.
  const tree = toHast(markdown, { clobberPrefix: '', footnoteLabel: footnotes, footnoteBackLabel: backToText });
  prepareHeadings(tree, new Map());
  return sanitize(tree, { ...defaultSchema, clobberPrefix: ID_PREFIX });
}

/** Settings for programs that some put before the text, and that would be taken for a heading. */
function removeFrontMatter(text: string): string {
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
