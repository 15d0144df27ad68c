import type { Nodes } from 'hast';
import { raw } from 'hast-util-raw';

/** Parses the HTML in a tree of Markdown. The result can contain any element and attribute. */
export function parseHtml(tree: Nodes): Nodes {
  return raw(tree);
}
