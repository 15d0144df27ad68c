import { type FileHandle, open } from 'node:fs/promises';
import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import { partitionPoint } from '../model/binary-search.ts';
import { quoted } from '../model/error.ts';

/**
 * Maximum size of an access file. A file of this size takes about a second to read; more users need an identity
 * provider.
 */
const MAX_ACCESS_FILE_BYTES = 10 * 2 ** 20;

/** The text of a file, and its version. */
export interface AccessFileText {
  readonly text: string;
  /** The version of the file that was read, from `versionOf`. */
  readonly version: string;
  /** Whether the file changed so recently that another change could leave its timestamps the same. */
  readonly isFresh: boolean;
}

/**
 * Reads an access file. Throws `AccessFileError` if it is unreadable, too large or not UTF-8. `name` is the name of
 * the file in messages.
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
  // Called before the read, so that the next check detects a change that happens during it.
  const stat = await handle.stat({ bigint: true });
  if (!stat.isFile()) throw unreadable(name, 'it is not a regular file');
  if (stat.size > MAX_ACCESS_FILE_BYTES) throw tooLarge(name);
  const bytes = await handle.readFile();
  if (bytes.length > MAX_ACCESS_FILE_BYTES) throw tooLarge(name);
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return { text, version: versionOf(stat), isFresh: Math.abs(Date.now() - Number(stat.ctimeMs)) < FRESH_FILE_MS };
  } catch (error) {
    if (error instanceof TypeError) throw mistakesIn(name, ['line 1, column 1: the file is not UTF-8.']);
    throw error;
  }
}

/**
 * Age below which a file counts as fresh. File systems have timestamps with a resolution of two seconds in the worst
 * case.
 */
const FRESH_FILE_MS = 3000;

interface Stat {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** Returns an identifier that changes when the file is replaced or its content changes. */
export function versionOf({ dev, ino, size, mtimeNs, ctimeNs }: Stat): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

/** Returns the reason why a file is unreadable, for messages. */
function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return READ_ERRORS[code] ?? (error instanceof Error ? error.message : String(error));
}

const READ_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'the file does not exist',
  ENOTDIR: 'the file does not exist',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ELOOP: 'its symbolic links form a loop',
};

function tooLarge(name: string): AccessFileError {
  return mistakesIn(name, [`line 1, column 1: the file is larger than ${MAX_ACCESS_FILE_BYTES / 2 ** 20} MiB.`]);
}

/** The keys and indices that lead to a value in JSON. */
export type JsonPath = readonly (string | number)[];

/** A mistake in a text, with its offset, so that mistakes can be reported from top to bottom. */
export interface Mistake {
  readonly offset: number;
  readonly text: string;
}

/** Parsed JSON with the position of each value in the text. */
export interface LocatedJson {
  readonly value: unknown;
  /** Keys that occur twice in an object. */
  readonly repeated: readonly Mistake[];
  /** Returns a mistake at the value of a path, or with `atKey` at its key. */
  mistakeAt(path: JsonPath, text: string, options?: { readonly atKey?: boolean }): Mistake;
  /** Returns the number of the line on which a value begins. */
  lineOf(path: JsonPath): number;
  /** Returns all mistakes as lines of text: `line 7, column 20 (people.ann): …`. */
  describe(mistakes: readonly Mistake[]): string[];
}

/**
 * Parses JSON as strictly as `JSON.parse`. Returns syntax errors as lines of text that contain nothing of the input.
 */
export function locateJson(text: string): LocatedJson | { readonly problems: readonly string[] } {
  const positionOf = createPositions(text);
  const describe = (mistakes: readonly Mistake[]) =>
    mistakes
      .toSorted((left, right) => left.offset - right.offset)
      .map(({ offset, text: problem }) => {
        const { line, column } = positionOf(offset);
        return `line ${line}, column ${column}${problem}`;
      });
  const errors: ParseError[] = [];
  if (text.trim() === '') return { problems: ['line 1, column 1: the file is empty.'] };
  try {
    const root = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false });
    if (errors.length > 0 || !root) return { problems: describe(syntaxMistakes(errors, positionOf)) };
    const find = createFinder(root);
    return {
      value: JSON.parse(text),
      repeated: findRepeated(root),
      mistakeAt: (path, problem, { atKey = false } = {}) => {
        const { value, key } = find(path);
        const at = path.length === 0 ? '' : ` (${describePath(path)})`;
        return { offset: ((atKey && key) || value).offset, text: `${at}: ${problem}` };
      },
      lineOf: (path) => positionOf(find(path).value.offset).line,
      describe,
    };
  } catch (error) {
    // The messages of `JSON.parse` contain a part of the text.
    if (error instanceof SyntaxError) return { problems: ['line 1, column 1: the file is not JSON.'] };
    // The parser recurses at each level of nesting.
    if (error instanceof RangeError) return { problems: ['line 1, column 1: the file is nested too deeply.'] };
    throw error;
  }
}

/** Returns a path in the syntax of JavaScript: `people["bob@example.org"].tokens[0]`. */
function describePath(path: JsonPath): string {
  return path
    .map((step) => {
      if (typeof step === 'number') return `[${step}]`;
      return /^[A-Za-z_$][\w$-]*$/.test(step) ? `.${step}` : `[${quoted(step)}]`;
    })
    .join('')
    .replace(/^\./, '');
}

/** Returns the first mistake of each line, because it causes the following ones. */
function syntaxMistakes(errors: readonly ParseError[], positionOf: ReturnType<typeof createPositions>): Mistake[] {
  const firsts = Map.groupBy(errors, ({ offset }) => positionOf(offset).line);
  return [...firsts.values()].flatMap(([error]) => {
    if (!error) return [];
    const name = printParseErrorCode(error.error);
    return [{ offset: error.offset, text: `: invalid JSON; ${SYNTAX_ERRORS[name] ?? 'invalid syntax'}.` }];
  });
}

const SYNTAX_ERRORS: Readonly<Record<string, string>> = {
  InvalidSymbol: 'this is not a value; strings need double quotes',
  InvalidNumberFormat: 'this is not a number',
  PropertyNameExpected: 'expected a name in double quotes, without a comma before the end',
  ValueExpected: 'expected a value, without a comma before the end',
  ColonExpected: 'expected a colon',
  CommaExpected: 'expected a comma',
  CloseBraceExpected: 'expected }',
  CloseBracketExpected: 'expected ]',
  EndOfFileExpected: 'unexpected text after the end',
  InvalidCommentToken: 'JSON has no comments',
  UnexpectedEndOfComment: 'JSON has no comments',
  UnexpectedEndOfNumber: 'this is not a number',
  UnexpectedEndOfString: 'the closing quote is missing',
  InvalidUnicode: '\\u needs four hexadecimal digits',
  InvalidEscapeCharacter: 'unknown escape',
  InvalidCharacter: 'control characters must be escaped',
};

interface Found {
  readonly value: Node;
  /** The key node of the value, if its parent is an object. */
  readonly key: Node | undefined;
}

/** Returns a function that finds values by their paths. It indexes each object once, so that many lookups are fast. */
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
      // A missing value is reported at its innermost existing parent.
      if (!next) return found;
      found = next;
    }
    return found;
  };
}

function findRepeated(root: Node): Mistake[] {
  const mistakes: Mistake[] = [];
  const visit = (node: Node, path: JsonPath) => {
    const keys = new Set<unknown>();
    node.children?.forEach((child, index) => {
      if (node.type === 'array') return visit(child, [...path, index]);
      const [key, value] = child.children ?? [];
      if (!key || !value) return;
      const step = String(key.value);
      const inner = [...path, step];
      if (keys.has(step)) mistakes.push({ offset: key.offset, text: ` (${describePath(inner)}): occurs twice.` });
      keys.add(step);
      visit(value, inner);
    });
  };
  visit(root, []);
  return mistakes;
}

/** Returns a function that converts offsets to lines and columns, both from 1. Columns count UTF-16 code units. */
function createPositions(text: string): (offset: number) => { line: number; column: number } {
  const starts = [0, ...Array.from(text.matchAll(/\r\n|\n|\r/g), ({ index, 0: end }) => index + end.length)];
  return (offset) => {
    const line = partitionPoint(starts.length, (index) => (starts[index] ?? 0) <= offset);
    return { line, column: offset - (starts[line - 1] ?? 0) + 1 };
  };
}

/** The error for an unusable access file: one line per mistake, without the secrets in it. */
export class AccessFileError extends Error {
  override readonly name = 'AccessFileError';
  readonly problems: readonly string[];

  constructor(message: string, problems: readonly string[]) {
    super(message);
    this.problems = problems;
  }
}

/** Returns the error for a readable file with invalid content. */
export function mistakesIn(file: string, problems: readonly string[]): AccessFileError {
  const count = problems.length === 1 ? 'an error' : `${problems.length} errors`;
  return new AccessFileError(
    `${file} has ${count}:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    problems,
  );
}

/** Returns the error for a file that can't be read. */
export function unreadable(file: string, reason: string): AccessFileError {
  return new AccessFileError(`${file} can't be read: ${reason}.`, [`It can't be read: ${reason}.`]);
}
