import { parseInstant } from '../model/dates.ts';
import { quoted } from '../model/error.ts';
import { EXACT_NAMES } from '../model/name-comparison.ts';
import { parseFolder } from '../model/path.ts';
import {
  type AccessFileShape,
  findBrokenRules,
  findShapeMistakes,
  isAccessFileShape,
  readSubject,
} from './access-file-rules.ts';
import { locateJson, mistakesIn } from './access-file-syntax.ts';
import { isCheap, readPasswordHash } from './credentials.ts';
import { createPolicy, type Grant, type Policy, type UserEntry } from './policy.ts';

/** A parsed access file. */
export interface AccessFile {
  readonly policy: Policy;
  readonly users: readonly UserEntry[];
  readonly grants: readonly Grant[];
  /** Warnings about valid entries that are possibly unintended, one per line. */
  readonly warnings: readonly string[];
  /** Returns the number of the line on which a grant begins. */
  lineOf(grant: Grant): number;
}

/**
 * Parses the text of an access file. Throws `AccessFileError` with every mistake and its line, column and path, such as
 * `line 7, column 20 (people.ann.tokens[0].expires): must be …`. Messages contain no hashes. `name` is the name of the
 * file in messages; `names` is how the store compares names.
 */
export function parseAccessFile(text: string, name = 'The access file', names = EXACT_NAMES): AccessFile {
  const json = locateJson(text);
  if ('problems' in json) throw mistakesIn(name, json.problems);
  const mistakes = [
    ...json.repeated,
    ...findShapeMistakes(json.value).map(({ path, text: problem, atKey }) => json.mistakeAt(path, problem, { atKey })),
    ...findBrokenRules(json, names),
  ];
  if (mistakes.length > 0 || !isAccessFileShape(json.value)) throw mistakesIn(name, json.describe(mistakes));
  const users = Object.entries(json.value.people ?? {}).map(readUser);
  const grants = json.value.grants.map(readGrant);
  const indices = new Map(grants.map((grant, index) => [grant, index]));
  const lineOf = (grant: Grant) => json.lineOf(['grants', indices.get(grant) ?? 0]);
  const warnings = findWarnings({ users, grants, lineOf });
  return { policy: createPolicy(users, grants, names), users, grants, warnings, lineOf };
}

type UserShape = NonNullable<AccessFileShape['people']>[string];
type GrantShape = AccessFileShape['grants'][number];

function readUser([name, { password, groups = [], tokens = [] }]: [string, UserShape]): UserEntry {
  return {
    name,
    password,
    groups,
    tokens: tokens.map(({ expires, ...token }) => ({ ...token, expires: expires ? parseInstant(expires) : undefined })),
  };
}

function readGrant({ folder, to, rights }: GrantShape): Grant {
  return { folder: parseFolder(folder), to: readSubject(to), permissions: rights };
}

/** Returns warnings about valid entries that are possibly unintended, one per line. */
export function findWarnings({ users, grants, lineOf }: Omit<AccessFile, 'warnings' | 'policy'>): string[] {
  const known = new Set(users.flatMap(({ groups }) => groups));
  return [
    ...grants.flatMap((grant) => {
      const at = `line ${lineOf(grant)}`;
      return [...noteOnGroup(grant, known, at), ...notesOnFolder(grant, at)];
    }),
    ...users.flatMap(notesOnPerson),
  ];
}

/** Returns a warning for a group without members. An identity provider can report it, or its name is misspelled. */
function noteOnGroup({ to }: Grant, known: ReadonlySet<string>, at: string): string[] {
  if (to.kind !== 'group' || known.has(to.name)) return [];
  return [`Nobody in the file belongs to the group ${quoted(to.name)} of ${at}; a provider may tell of it.`];
}

function notesOnFolder({ folder }: Grant, at: string): string[] {
  const path = `${quoted(`/${folder}`)} of ${at}`;
  const names = folder.split('/').slice(0, -1);
  const notes = [
    folder.includes('*') && `The * in ${path} is a character like others; a grant is for all below its folder anyway.`,
    folder.includes('\\') && `The \\ in ${path} is a character like others; folders are parted by "/".`,
    folder.startsWith('.holdall/') && `Of ${path}: a service of a disk keeps its own things there, and serves none.`,
    names.some((name) => name.trim() !== name) && `A name in ${path} begins or ends with a space.`,
  ];
  return notes.filter((note) => note !== false);
}

function notesOnPerson({ name, password, tokens }: UserEntry): string[] {
  const who = quoted(name);
  const reading = password === undefined ? undefined : readPasswordHash(password);
  const isGuessable = reading !== undefined && 'cost' in reading && isCheap(reading);
  const expired = tokens.filter(({ expires }) => expires !== undefined && expires.getTime() <= Date.now());
  const notes = [
    isGuessable && `The password of ${who} is hashed so that guessing it costs little.`,
    password !== undefined && name.includes(':') && `${who} can't use Authorization: Basic, where a name has no ":".`,
    password === undefined &&
      tokens.length === 0 &&
      `${who} has no password and no token, and comes by a provider only.`,
    ...expired.map((token) => `The token ${quoted(token.name)} of ${who} has expired.`),
  ];
  return notes.filter((note) => note !== false);
}
