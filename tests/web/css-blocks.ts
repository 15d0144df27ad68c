/** A block of a style sheet: a rule, or an at-rule with a block. */
export interface CssBlock {
  /** The text before the block: the selectors, or the name and the condition of an at-rule. */
  readonly prelude: string;
  /** The preludes of the enclosing blocks, the outermost first. */
  readonly within: readonly string[];
  /** The declarations directly in the block. */
  readonly declarations: readonly string[];
}

/** The parts of a style sheet. */
export interface ParsedStyleSheet {
  readonly blocks: readonly CssBlock[];
  /** At-rules outside of all blocks that have no block, such as `@layer a, b`. */
  readonly statements: readonly string[];
}

/** Parses the style sheets of the web UI, in which neither strings nor URLs contain braces or semicolons. */
export function parseStyleSheet(text: string): ParsedStyleSheet {
  const blocks: CssBlock[] = [];
  const statements: string[] = [];
  const open: { prelude: string; declarations: string[] }[] = [];
  for (const [, content = '', end] of text.replaceAll(/\/\*.*?\*\//gs, '').matchAll(/([^{};]*)([{};])/g)) {
    const part = content.trim().replaceAll(/\s+/g, ' ');
    const current = open.at(-1);
    if (end === '{') {
      const declarations: string[] = [];
      blocks.push({ prelude: part, within: open.map(({ prelude }) => prelude), declarations });
      open.push({ prelude: part, declarations });
    } else {
      if (part !== '') (current?.declarations ?? statements).push(part);
      if (end === '}') open.pop();
    }
  }
  return { blocks, statements };
}
