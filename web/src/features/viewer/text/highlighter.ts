import type { RootContent } from 'hast';
import { common, createLowlight } from 'lowlight';

const lowlight = createLowlight(common);

/** The tokens of a line, each with its class; the empty string for none. */
export type HighlightedLine = readonly (readonly [className: string, text: string])[];

/** The maximum number of highlighted tokens, in total and per line. Rendering more blocks the page. */
const MAX_TOKENS = 50_000;
const MAX_TOKENS_PER_LINE = 5_000;

/**
 * Returns the lines of a text as highlighted tokens; undefined if the grammar is unknown, or if there are too many
 * tokens.
 */
export function highlightLines(text: string, grammar: string): readonly HighlightedLine[] | undefined {
  if (!lowlight.registered(grammar)) return undefined;
  const lines: [string, string][][] = [[]];
  let count = 0;
  const add = (nodes: readonly RootContent[], className: string) => {
    for (const node of nodes) {
      // The innermost class is the most specific.
      if (node.type === 'element') add(node.children, classOf(node.properties['className']) ?? className);
      else if (node.type === 'text') {
        for (const [index, part] of node.value.split(/\r\n|\r|\n/).entries()) {
          if (index > 0) lines.push([]);
          if (part !== '') lines.at(-1)?.push([className, part]);
          if (className !== '') count += 1;
        }
      }
    }
  };
  add(lowlight.highlight(grammar, text).children, '');
  return count > MAX_TOKENS || lines.some((line) => line.length > MAX_TOKENS_PER_LINE) ? undefined : lines;
}

function classOf(names: unknown): string | undefined {
  return Array.isArray(names) ? names.join(' ') : undefined;
}
