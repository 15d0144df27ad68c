import { parseInstant } from '../model/dates.ts';
import { isStoreError, quoted } from '../model/error.ts';
import { EXACT_NAMES, type NameComparison } from '../model/name-comparison.ts';
import { parseFolder } from '../model/path.ts';
import {
  type AccessFileShape,
  describeValue,
  findShapeMistakes,
  isAccessFileShape,
  isSubjectShape,
  type SubjectShape,
} from './access-file-schema.ts';
import { type JsonPath, type LocatedJson, locateJson, type Mistake, mistakesIn } from './access-file-syntax.ts';
import { isCheapToGuess, readPasswordHash } from './credentials.ts';
import { createPolicy, type Grant, type Policy, type Subject, subjectKey, type UserEntry } from './policy.ts';

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

/**
 * Returns all violations of rules other than the shape. Checks every part with a valid shape even if other parts are
 * invalid, so that one run reports all mistakes.
 */
function findBrokenRules(json: LocatedJson, names: NameComparison): Mistake[] {
  const { people: users, grants } = isRecord(json.value) ? json.value : {};
  const mistakes: Mistake[] = [];
  const report: Report = (path, text) => void mistakes.push(json.mistakeAt(path, text));
  const tokenOwners = new Map<string, string>();
  for (const [name, user] of Object.entries(isRecord(users) ? users : {})) {
    if (isRecord(user)) checkUser(name, user, { tokenOwners, report });
  }
  const firstIndices = new Map<string, number>();
  for (const [index, grant] of listOf(grants).entries()) {
    if (!isRecord(grant)) continue;
    const path = ['grants', index];
    const folder = checkFolder(grant['folder'], [...path, 'folder'], report);
    const { to } = grant;
    if (!isSubjectShape(to)) continue;
    const subject = readSubject(to);
    if (subject.kind === 'person' && !(isRecord(users) && Object.hasOwn(users, subject.name))) {
      report([...path, 'to', 'person'], `must be a name in "people", not ${quoted(subject.name)}.`);
    }
    const key = folder === undefined ? '' : `${names.possible(folder)}\0${subjectKey(subject)}`;
    const firstIndex = folder === undefined ? undefined : firstIndices.get(key);
    if (firstIndex === undefined) firstIndices.set(key, index);
    else report(path, `has the same folder and subject as the grant of line ${json.lineOf(['grants', firstIndex])}.`);
  }
  return mistakes;
}

/** Returns the subject of a grant. */
function readSubject(to: SubjectShape): Subject {
  if (typeof to === 'string') return { kind: to };
  return 'person' in to ? { kind: 'person', name: to.person } : { kind: 'group', name: to.group };
}

type Report = (path: JsonPath, text: string) => void;

/** Checks one user. `tokenOwners` maps each token's hash to its user. */
function checkUser(
  name: string,
  { password, tokens }: Readonly<Record<string, unknown>>,
  { tokenOwners, report }: { tokenOwners: Map<string, string>; report: Report },
): void {
  const path = ['people', name];
  const reading = typeof password === 'string' ? readPasswordHash(password) : undefined;
  if (reading && 'problem' in reading) report([...path, 'password'], `${reading.problem}.`);
  const names = new Set<unknown>();
  for (const [index, token] of listOf(tokens).entries()) {
    if (!isRecord(token)) continue;
    const at = [...path, 'tokens', index];
    if (names.has(token['name'])) report([...at, 'name'], 'is already the name of another token of this user.');
    if (typeof token['name'] === 'string') names.add(token['name']);
    checkExpiry(token['expires'], [...at, 'expires'], report);
    const { hash } = token;
    if (typeof hash !== 'string') continue;
    const owner = tokenOwners.get(hash);
    if (owner === undefined) tokenOwners.set(hash, name);
    else report([...at, 'hash'], `is already the hash of a token of ${quoted(owner)}.`);
  }
}

function checkExpiry(expires: unknown, path: JsonPath, report: Report): void {
  if (typeof expires !== 'string' || parseInstant(expires)) return;
  report(path, `must be a time with a zone, such as "2027-01-01T00:00:00Z"${describeValue(path, expires)}.`);
}

function checkFolder(text: unknown, path: JsonPath, report: Report): string | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    return parseFolder(text);
  } catch (error) {
    if (!isStoreError(error)) throw error;
    report(path, `must be the path of a folder. ${error.message}`);
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

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
  return [
    `The group ${quoted(to.name)} of ${at} has no members in the file. It applies only if the identity provider reports it.`,
  ];
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
  const isGuessable = reading !== undefined && 'cost' in reading && isCheapToGuess(reading);
  const expired = tokens.filter(({ expires }) => expires !== undefined && expires.getTime() <= Date.now());
  const warnings = [
    isGuessable && `The password hash of ${user} has a low cost, so the password is easy to guess.`,
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
