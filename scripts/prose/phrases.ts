import { fromMarkdown } from 'mdast-util-from-markdown';
import { type ESTree, parseSync, Visitor } from 'vite';

/** A phrase that Holdall's texts avoid, and the words to write instead. */
interface AvoidedPhrase {
  readonly phrase: string;
  readonly replacement: string;
}

/** An avoided phrase in a text. `line` counts from 1. */
interface Finding extends AvoidedPhrase {
  readonly line: number;
}

/** A range of offsets in a text. */
type Range = readonly [start: number, end: number];

/**
 * Reads the table below a heading of a Markdown text: the first column is what to write, and the second column lists
 * the phrases to avoid as inline code. Throws if there is no such table.
 */
export function readAvoidedPhrases(markdown: string, heading: string): AvoidedPhrase[] {
  const [, section] = markdown.split(new RegExp(`^#+ ${RegExp.escape(heading)}$`, 'm'));
  const rows = section?.split(/^#+ /m, 1)[0]?.match(/^\|.*\|$/gm) ?? [];
  const phrases = rows.flatMap((row) => {
    const [, replacement = '', avoided = ''] = row.split('|').map((cell) => cell.trim());
    return Array.from(avoided.matchAll(/`([^`]+)`/g), ([, phrase = '']) => ({ phrase, replacement }));
  });
  if (phrases.length === 0) throw new Error(`No table of phrases below "${heading}".`);
  return phrases;
}

/** Returns the avoided phrases in the prose of a Markdown text. Code blocks, inline code and URLs are not prose. */
export function checkMarkdown(markdown: string, phrases: readonly AvoidedPhrase[]): Finding[] {
  const prose: Range[] = [];
  const visit = (node: ReturnType<typeof fromMarkdown>['children'][number]): void => {
    const { start, end } = node.position ?? {};
    if (node.type === 'text' && start?.offset !== undefined && end?.offset !== undefined) {
      prose.push([start.offset, end.offset]);
    }
    // A URL between angle brackets is its own text.
    const isBareUrl = node.type === 'link' && markdown[start?.offset ?? -1] === '<';
    if ('children' in node && !isBareUrl) node.children.forEach(visit);
  };
  fromMarkdown(markdown).children.forEach(visit);
  return findPhrases(markdown, prose, phrases);
}

/** Returns the avoided phrases in the comments and string literals of a TypeScript or JavaScript file. */
export function checkSource(file: string, code: string, phrases: readonly AvoidedPhrase[]): Finding[] {
  const { program, comments, errors } = parseSync(file, code);
  for (const { message } of errors) throw new Error(`${file}: ${message}`);
  const prose = comments.flatMap(({ start, end }) => outsideInlineCode(code, start, end));
  const add = ({ start, end }: ESTree.Span) => prose.push([start, end]);
  new Visitor({
    Literal(node) {
      if (typeof node.value === 'string') add(node);
    },
    TemplateElement: add,
  }).visit(program);
  return findPhrases(code, prose, phrases);
}

/**
 * Returns the avoided phrases in the comments of a test and in its titles: the first arguments of `describe`, `it` and
 * `test`. Other strings are data.
 */
export function checkTest(file: string, code: string, phrases: readonly AvoidedPhrase[]): Finding[] {
  const { program, comments, errors } = parseSync(file, code);
  for (const { message } of errors) throw new Error(`${file}: ${message}`);
  const prose = comments.flatMap(({ start, end }) => outsideInlineCode(code, start, end));
  new Visitor({
    CallExpression({ callee, arguments: [title] }) {
      const isTest = callee.type === 'Identifier' && /^(describe|it|test)$/.test(callee.name);
      if (isTest && title) prose.push([title.start, title.end]);
    },
  }).visit(program);
  return findPhrases(code, prose, phrases);
}

/** Returns the parts of a comment that are not inline code. */
function outsideInlineCode(code: string, start: number, end: number): Range[] {
  const parts: Range[] = [];
  let partStart = start;
  for (const { index, 0: inlineCode } of code.slice(start, end).matchAll(/`[^`\n]*`/g)) {
    parts.push([partStart, start + index]);
    partStart = start + index + inlineCode.length;
  }
  return [...parts, [partStart, end]];
}

/** Returns the phrases in the given ranges of a text, by line. A phrase may continue on the next line. */
function findPhrases(text: string, prose: readonly Range[], phrases: readonly AvoidedPhrase[]): Finding[] {
  // Keeps the offsets: everything that is not prose becomes a character that no phrase contains.
  const characters = text.replace(/\S/g, '\0').split('');
  for (const [start, end] of prose) {
    for (let offset = start; offset < end; offset++) characters[offset] = text.charAt(offset);
  }
  const searched = characters.join('');
  return phrases
    .flatMap(({ phrase, replacement }) =>
      Array.from(searched.matchAll(expressionFor(phrase)), ({ index }) => {
        return { line: text.slice(0, index).split('\n').length, phrase, replacement };
      }),
    )
    .toSorted((a, b) => a.line - b.line);
}

/** Matches a phrase as whole words. Markers of comments and quotations may stand between the words. */
function expressionFor(phrase: string): RegExp {
  const words = phrase.split(' ').map((word) => RegExp.escape(word));
  const separator = String.raw`\s+(?:(?:\*|//|>)\s+)?`;
  return new RegExp(String.raw`(?<![\p{L}\p{N}_-])${words.join(separator)}(?![\p{L}\p{N}_-])`, 'giu');
}
