import { type FileHandle, open } from 'node:fs/promises';
import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { quoted } from '../model/error.ts';

/** Files of this size take a second or so to read; who has more people asks a provider for them. */
const MAX_ACCESS_FILE_BYTES = 10 * 2 ** 20;

/** The text of a file, and what tells whether it is still the same. */
export interface AccessFileText {
  readonly text: string;
  /** What `versionOf` gives for the file that was read. */
  readonly version: string;
  /** Whether the file was changed so lately that it could be once more with its times staying what they are. */
  readonly isFresh: boolean;
}

/**
 * Reads an access file. Throws `AccessFileError` when it can't be read, or is too large or no UTF-8; `name` is what its
 * message calls the file.
 */
export async function readAccessFile(path: string, name = path): Promise<AccessFileText> {
  try {
    const handle = await open(path, 'r');
    try {
      return await readFrom(handle, name);
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw error instanceof AccessFileError ? error : unreadable(name, reasonOf(error));
  }
}

async function readFrom(handle: FileHandle, name: string): Promise<AccessFileText> {
  // Before the bytes, so that a change while they are read shows at the next look.
  const stat = await handle.stat({ bigint: true });
  if (!stat.isFile()) throw unreadable(name, 'it is not a file');
  if (stat.size > MAX_ACCESS_FILE_BYTES) throw tooLarge(name);
  const bytes = await handle.readFile();
  if (bytes.length > MAX_ACCESS_FILE_BYTES) throw tooLarge(name);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { text, version: versionOf(stat), isFresh: Math.abs(Date.now() - Number(stat.ctimeMs)) < COARSEST_CLOCK };
  } catch (error) {
    if (error instanceof TypeError) throw mistakesIn(name, ['line 1, column 1: is not UTF-8.']);
    throw error;
  }
}

/** Milliseconds: file systems keep times to two seconds in the worst case. */
const COARSEST_CLOCK = 3000;

interface Stat {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** Another text for every file that takes the place of one, and for every change of its bytes. */
export function versionOf({ dev, ino, size, mtimeNs, ctimeNs }: Stat): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

/** Why a file can't be read, in words. */
function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? (error instanceof Error ? error.message : String(error));
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EACCES: 'the service is not allowed to',
  EPERM: 'the service is not allowed to',
  EISDIR: 'it is a folder',
  ELOOP: 'its links lead in a circle',
};

function tooLarge(name: string): AccessFileError {
  return mistakesIn(name, [`line 1, column 1: is larger than ${MAX_ACCESS_FILE_BYTES / 2 ** 20} MiB.`]);
}

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

/** An access file that can't be used: what is wrong with it, a line for each mistake, without the secrets in it. */
export class AccessFileError extends Error {
  override readonly name = 'AccessFileError';
  readonly problems: readonly string[];

  constructor(message: string, problems: readonly string[]) {
    super(message);
    this.problems = problems;
  }
}

/** For a file that was read, and is wrong. */
export function mistakesIn(file: string, problems: readonly string[]): AccessFileError {
  const count = problems.length === 1 ? 'a mistake' : `${problems.length} mistakes`;
  return new AccessFileError(
    `${file} has ${count}:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    problems,
  );
}

/** For a file that could not be read at all. */
export function unreadable(file: string, reason: string): AccessFileError {
  return new AccessFileError(`${file} can't be read: ${reason}.`, [`It can't be read: ${reason}.`]);
}
