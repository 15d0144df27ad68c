import type { Element, ElementContent, Nodes, Root } from 'hast';
import { highlightLines } from '../text/highlighter.ts';
import type { MarkdownLabels } from '../worker/jobs.ts';
import { parseMarkdown } from './parse-markdown.ts';

/** How much a page can draw without standing still, and without coming to the end of its stack. */
const MOST_NODES = 30_000;
const DEEPEST = 150;

/**
 * The elements of a text of Markdown, its code coloured; `nothing` where none of them shows anything, as of a text that is
 * all HTML, and undefined where they are more than can be drawn.
 */
export function drawableMarkdown(text: string, labels: MarkdownLabels): Root | 'nothing' | undefined {
  const tree = parseMarkdown(text, labels);
  if (tree.type !== 'root' || !isDrawable(tree)) return undefined;
  if (!showsAnything(tree)) return 'nothing';
  colourCode(tree);
  return isDrawable(tree) ? tree : undefined;
}

function isDrawable(tree: Nodes): boolean {
  let count = 0;
  const rest: { node: Nodes; depth: number }[] = [{ node: tree, depth: 0 }];
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { node, depth } = next;
    count += 1;
    if (count > MOST_NODES || depth > DEEPEST) return false;
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
function colourCode(node: Nodes): void {
  if (!('children' in node)) return;
  for (const child of node.children) {
    if (child.type === 'element' && child.tagName === 'code') colour(child);
    else colourCode(child);
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
