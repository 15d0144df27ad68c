import type { Element, ElementContent, Nodes, Root } from 'hast';
import { defaultSchema, type Schema, sanitize } from 'hast-util-sanitize';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { toHast } from 'mdast-util-to-hast';
import { gfm } from 'micromark-extension-gfm';
import { BidiLimit, bidiPartsOf } from '../text/bidi-parts.ts';
import { highlightLines } from '../text/highlighter.ts';
import { ID_PREFIX } from './links.ts';

/** Labels of footnotes in Markdown. */
export interface MarkdownLabels {
  readonly footnotes: string;
  readonly backToText: string;
}

/** Limits of the rendered tree: more nodes block the page, deeper nesting overflows the stack. */
const MAX_NODES = 30_000;
const MAX_DEPTH = 150;

/**
 * Parses Markdown and highlights its code. Returns `nothing` if no element is visible, as for a document of only comments,
 * and undefined if the tree exceeds the limits.
 */
export async function renderableMarkdown(text: string, labels: MarkdownLabels): Promise<Root | 'nothing' | undefined> {
  const tree = await parseMarkdown(text, labels);
  if (tree.type !== 'root' || !isRenderable(tree)) return undefined;
  if (!showsAnything(tree)) return 'nothing';
  highlightCode(tree);
  showCodeControls(tree, { isCode: false, limit: new BidiLimit() });
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

/** Highlights code blocks with a known language. */
function highlightCode(node: Nodes): void {
  if (!('children' in node)) return;
  for (const child of node.children) {
    if (child.type === 'element' && child.tagName === 'code') highlightElement(child);
    else highlightCode(child);
  }
}

function highlightElement(code: Element): void {
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

/** Makes bidirectional control characters in code visible. Paragraphs and other blocks contain their effects. */
function showCodeControls(node: Nodes, { isCode, limit }: { isCode: boolean; limit: BidiLimit }): void {
  if (!('children' in node)) return;
  for (const child of node.children) {
    showCodeControls(child, { isCode: isCode || (child.type === 'element' && child.tagName === 'code'), limit });
  }
  if (isCode && node.type === 'element') {
    node.children = node.children.flatMap((child) => withVisibleControls(child, limit));
  }
}

function withVisibleControls(node: ElementContent, limit: BidiLimit): ElementContent[] {
  if (node.type !== 'text') return [node];
  return bidiPartsOf(limit.apply(node.value)).map(({ text, code }) => {
    const part = { type: 'text' as const, value: text };
    if (code === undefined) return part;
    return {
      type: 'element',
      tagName: 'span',
      properties: { className: ['bidi-control'], dataCode: code },
      children: [part],
    };
  });
}

/**
 * Parses GitHub Flavored Markdown with its HTML, sanitized by GitHub's rules. Headings are one level lower, below the
 * heading of the page.
 */
async function parseMarkdown(text: string, { footnotes, backToText }: MarkdownLabels): Promise<Nodes> {
  const markdown = fromMarkdown(removeFrontMatter(text), {
    extensions: [gfm()],
    mdastExtensions: [gfmFromMarkdown()],
  });
  // `sanitize` adds the prefix of ids, once.
  const unparsed = toHast(markdown, {
    allowDangerousHtml: true,
    clobberPrefix: '',
    footnoteLabel: footnotes,
    footnoteBackLabel: backToText,
  });
  // Most files have no HTML, and its parser is half as large as the rest of the worker.
  const tree = hasHtml(unparsed) ? (await import('./parse-html.ts')).parseHtml(unparsed) : unparsed;
  prepareElements(tree, new Map());
  const sanitized = sanitize(tree, SCHEMA);
  setDirections(sanitized);
  return sanitized;
}

function hasHtml(node: Nodes): boolean {
  return node.type === 'raw' || ('children' in node && node.children.some(hasHtml));
}

/** GitHub's rules, without other sources of a picture, and without the contents of elements that are no text. */
const SCHEMA: Schema = {
  ...defaultSchema,
  clobberPrefix: ID_PREFIX,
  tagNames: (defaultSchema.tagNames ?? []).filter((name) => name !== 'picture' && name !== 'source'),
  strip: [
    'iframe',
    'math',
    'noembed',
    'noframes',
    'noscript',
    'script',
    'style',
    'svg',
    'template',
    'textarea',
    'title',
  ],
};

/** Gives each list, quote and table the direction of its text. Style sheets do that for blocks of text. */
function setDirections(tree: Nodes): void {
  if (!('children' in tree)) return;
  for (const child of tree.children) {
    // The direction of an outer element does not depend on inner elements with the attribute.
    if (child.type === 'element' && /^(ul|ol|blockquote|table)$/.test(child.tagName)) child.properties['dir'] = 'auto';
  }
}

/** Removes YAML front matter, which Markdown would parse as a heading. */
function removeFrontMatter(text: string): string {
  return text.replace(/^---\r?\n.*?\r?\n---\r?\n/s, '');
}

/**
 * Lowers headings by one level, and adds the ids that links within the document use. Removes input fields, except the
 * checkboxes of task lists.
 */
function prepareElements(node: Nodes, taken: Map<string, number>): void {
  if (!('children' in node)) return;
  node.children = node.children.filter((child) => !isInputField(child));
  for (const child of node.children) {
    if (child.type !== 'element') continue;
    const level = /^h([1-6])$/.exec(child.tagName)?.[1];
    if (level !== undefined) {
      child.tagName = `h${Math.min(6, Number(level) + 1)}`;
      child.properties['id'] ??= uniqueId(slugOf(textOf(child)), taken);
    }
    prepareElements(child, taken);
  }
}

function isInputField(node: Nodes): boolean {
  return node.type === 'element' && node.tagName === 'input' && node.properties['type'] !== 'checkbox';
}

/** Returns the id of a heading as GitHub derives it. */
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
