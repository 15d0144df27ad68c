import type { MarkdownRenderer } from 'vitepress';

/** Characters of inline code that fit into a column of a table with four columns. */
const MAX_LENGTH = 20;

/** Gives long inline code the class `long`, so that the style sheet can wrap it in tables. */
export function longCodePlugin(markdown: MarkdownRenderer): void {
  markdown.core.ruler.after('inline', 'long_code', ({ tokens }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === 'code_inline' && token.content.length > MAX_LENGTH) token.attrJoin('class', 'long');
    }
  });
}
