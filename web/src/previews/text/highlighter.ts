import type { RootContent } from 'hast';
import { common, createLowlight } from 'lowlight';
import { type ComponentChild, h } from 'preact';
import './highlighter.css';

const lowlight = createLowlight(common);

/** The lines of a text, their parts marked with what they are; undefined where the grammar is not known. */
export function highlightLines(text: string, grammar: string): readonly (readonly ComponentChild[])[] | undefined {
  if (!lowlight.registered(grammar)) return undefined;
  const lines: ComponentChild[][] = [[]];
  const add = (nodes: readonly RootContent[], className: string) => {
    for (const node of nodes) {
      // What is innermost tells most of a part.
      if (node.type === 'element') add(node.children, classOf(node.properties['className']) ?? className);
      else if (node.type === 'text') {
        for (const [index, part] of node.value.split(/\r\n|\r|\n/).entries()) {
          if (index > 0) lines.push([]);
          if (part !== '') lines.at(-1)?.push(className === '' ? part : h('span', { class: className }, part));
        }
      }
    }
  };
  add(lowlight.highlight(grammar, text).children, '');
  return lines;
}

function classOf(names: unknown): string | undefined {
  return Array.isArray(names) ? names.join(' ') : undefined;
}
