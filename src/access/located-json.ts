import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { quoted } from '../domain/error.ts';

/** Where something is in a value: the keys and indices that lead to it. */
export type JsonPath = readonly (string | number)[];

/** What is wrong with a text, and where; as places in the text, so that all can be told from top to bottom. */
export interface Mistake {
  readonly offset: number;
  readonly text: string;
}

/** A text of JSON, its value, and where in the text each part of the value is. */
export interface LocatedJson {
  readonly value: unknown;
  /** Keys that an object has twice. */
  readonly repeated: readonly Mistake[];
  /** A mistake at the value that a path leads to, or with `atKey` at its key. */
  mistakeAt(path: JsonPath, text: string, options?: { readonly atKey?: boolean }): Mistake;
  /** The number of the line on which a value begins. */
  lineOf(path: JsonPath): number;
  /** All mistakes as lines of text: `line 7, column 20 (people.ann): …`. */
  describe(mistakes: readonly Mistake[]): string[];
}

/** Reads JSON as strictly as `JSON.parse`. What breaks its rules is given as lines of text, which show nothing of it. */
export function locateJson(text: string): LocatedJson | { readonly problems: readonly string[] } {
  const places = createPlaces(text);
  const describe = (mistakes: readonly Mistake[]) =>
    mistakes
      .toSorted((left, right) => left.offset - right.offset)
      .map((mistake) => `${places.describe(mistake.offset)}${mistake.text}`);
  const errors: ParseError[] = [];
  if (text.trim() === '') return { problems: ['line 1, column 1: is empty.'] };
  try {
    const root = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
    if (errors.length > 0 || !root) return { problems: describe(syntaxMistakes(errors, places.lineOf)) };
    const find = createFinder(root);
    return {
      value: JSON.parse(text),
      repeated: findRepeated(root),
      mistakeAt: (path, problem, { atKey = false } = {}) => {
        const { value, key } = find(path);
        const at = path.length === 0 ? '' : ` (${describePath(path)})`;
        return { offset: ((atKey && key) || value).offset, text: `${at}: ${problem}` };
      },
      lineOf: (path) => places.lineOf(find(path).value.offset),
      describe,
    };
  } catch (error) {
    // The messages of `JSON.parse` show a part of the text.
    if (error instanceof SyntaxError) return { problems: ['line 1, column 1: is not JSON.'] };
    // Each level that is open takes a part of the stack.
    if (error instanceof RangeError) return { problems: ['line 1, column 1: is nested too deeply.'] };
    throw error;
  }
}

/** A path as it would be written in a program: `people["bob@example.org"].tokens[0]`. */
function describePath(path: JsonPath): string {
  return path
    .map((step) => {
      if (typeof step === 'number') return `[${step}]`;
      return /^[A-Za-z_$][\w$-]*$/.test(step) ? `.${step}` : `[${quoted(step)}]`;
    })
    .join('')
    .replace(/^\./, '');
}

/** One mistake makes others behind it: the first of a line is the one to correct. */
function syntaxMistakes(errors: readonly ParseError[], lineOf: (offset: number) => number): Mistake[] {
  const firsts = Map.groupBy(errors, ({ offset }) => lineOf(offset));
  return [...firsts.values()].flatMap(([error]) => {
    if (!error) return [];
    const name = printParseErrorCode(error.error);
    return [{ offset: error.offset, text: `: is not JSON: ${SYNTAX[name] ?? 'something is wrong here'}.` }];
  });
}

const SYNTAX: Readonly<Record<string, string>> = {
  InvalidSymbol: 'this is no value; texts are in double quotes',
  InvalidNumberFormat: 'this is no number',
  PropertyNameExpected: 'a name in double quotes is needed here, and no comma before the end',
  ValueExpected: 'a value is needed here, and no comma before the end',
  ColonExpected: 'a colon is needed here',
  CommaExpected: 'a comma is needed here',
  CloseBraceExpected: 'a } is needed here',
  CloseBracketExpected: 'a ] is needed here',
  EndOfFileExpected: 'nothing may follow the end',
  InvalidCommentToken: 'there are no comments in JSON',
  UnexpectedEndOfComment: 'there are no comments in JSON',
  UnexpectedEndOfNumber: 'this is no number',
  UnexpectedEndOfString: 'the quote that ends the text is not there',
  InvalidUnicode: '\\u needs four hexadecimal digits',
  InvalidEscapeCharacter: 'there is no such escape',
  InvalidCharacter: 'control characters must be escaped',
};

interface Found {
  readonly value: Node;
  /** Where it is in an object. */
  readonly key: Node | undefined;
}

/** Finds values by their paths; each object is indexed once, so that many paths cost little. */
function createFinder(root: Node): (path: JsonPath) => Found {
  const indices = new WeakMap<Node, Map<string, Found>>();
  const membersOf = (node: Node) => {
    const known = indices.get(node);
    if (known) return known;
    const members = new Map(
      (node.children ?? []).flatMap(({ children: [key, value] = [] }) => {
        return key && value ? [[String(key.value), { value, key }] as const] : [];
      }),
    );
    indices.set(node, members);
    return members;
  };
  return (path) => {
    let found: Found = { value: root, key: undefined };
    for (const step of path) {
      const child = typeof step === 'number' ? found.value.children?.[step] : undefined;
      const next =
        typeof step === 'number' ? child && { value: child, key: undefined } : membersOf(found.value).get(step);
      // What is lacking is missed where it should be.
      if (!next) return found;
      found = next;
    }
    return found;
  };
}

function findRepeated(root: Node): Mistake[] {
  const mistakes: Mistake[] = [];
  const look = (node: Node, path: JsonPath) => {
    const keys = new Set<unknown>();
    node.children?.forEach((child, index) => {
      if (node.type === 'array') return look(child, [...path, index]);
      const [key, value] = child.children ?? [];
      if (!key || !value) return;
      const step = String(key.value);
      const inner = [...path, step];
      if (keys.has(step)) mistakes.push({ offset: key.offset, text: ` (${describePath(inner)}): is there twice.` });
      keys.add(step);
      look(value, inner);
    });
  };
  look(root, []);
  return mistakes;
}

/** Lines and columns, both from 1; columns in UTF-16 units, as editors count them. */
function createPlaces(text: string) {
  const starts = [0, ...Array.from(text.matchAll(/\r\n|\n|\r/g), ({ index, 0: end }) => index + end.length)];
  const lineOf = (offset: number) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
  const describe = (offset: number) => {
    const line = lineOf(offset);
    return `line ${line}, column ${offset - (starts[line - 1] ?? 0) + 1}`;
  };
  return { lineOf, describe };
}
