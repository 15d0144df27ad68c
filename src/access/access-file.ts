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
      return [...warnAboutGroup(grant, known, at), ...warnAboutFolder(grant, at)];
    }),
    ...users.flatMap(warnAboutUser),
  ];
}

/** Returns a warning for a group without members. An identity provider can report it, or its name is misspelled. */
function warnAboutGroup({ to }: Grant, known: ReadonlySet<string>, at: string): string[] {
  if (to.kind !== 'group' || known.has(to.name)) return [];
  return [`The group ${quoted(to.name)} of ${at} has no members in the file. The identity provider may report it.`];
}

function warnAboutFolder({ folder }: Grant, at: string): string[] {
  const path = `${quoted(`/${folder}`)} of ${at}`;
  const names = folder.split('/').slice(0, -1);
  const warnings = [
    folder.includes('*') &&
      `The * in ${path} is a literal character. A grant always applies to everything below its folder.`,
    folder.includes('\\') && `The \\ in ${path} is a literal character. Folders are separated by "/".`,
    folder.startsWith('.holdall/') && `${path} is reserved for Holdall on a disk and is not served.`,
    names.some((name) => name.trim() !== name) && `A name in ${path} starts or ends with a space.`,
  ];
  return warnings.filter((warning) => warning !== false);
}

function warnAboutUser({ name, password, tokens }: UserEntry): string[] {
  const user = quoted(name);
  const reading = password === undefined ? undefined : readPasswordHash(password);
  const isGuessable = reading !== undefined && 'cost' in reading && isCheap(reading);
  const expired = tokens.filter(({ expires }) => expires !== undefined && expires.getTime() <= Date.now());
  const warnings = [
    isGuessable && `The password hash of ${user} is cheap to guess.`,
    password !== undefined &&
      name.includes(':') &&
      `${user} can't use Basic authentication, which does not support ":" in usernames.`,
    password === undefined &&
      tokens.length === 0 &&
      `${user} has no password and no token, and can sign in only with the identity provider.`,
    ...expired.map((token) => `The token ${quoted(token.name)} of ${user} has expired.`),
  ];
  return warnings.filter((warning) => warning !== false);
}
