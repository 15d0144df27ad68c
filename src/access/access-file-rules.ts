import { Ajv, type ErrorObject } from 'ajv';
import { type Static, Type } from 'typebox';
import { parseInstant } from '../model/dates.ts';
import { isStoreError, quoted } from '../model/error.ts';
import type { NameComparison } from '../model/name-comparison.ts';
import { parseFolder } from '../model/path.ts';
import type { JsonPath, LocatedJson, Mistake } from './access-file-syntax.ts';
import { readPasswordHash } from './credentials.ts';
import { NAME_PATTERN, PERMISSIONS, type Subject, subjectKey } from './policy.ts';

/**
 * Returns all violations of rules other than the shape. Checks every part with a valid shape even if other parts are
 * invalid, so that one run reports all mistakes.
 */
export function findBrokenRules(json: LocatedJson, names: NameComparison): Mistake[] {
  const { people, grants } = isRecord(json.value) ? json.value : {};
  const mistakes: Mistake[] = [];
  const report: Report = (path, text) => void mistakes.push(json.mistakeAt(path, text));
  const owners = new Map<string, string>();
  for (const [name, person] of Object.entries(isRecord(people) ? people : {})) {
    if (isRecord(person)) checkPerson(name, person, { owners, report });
  }
  const first = new Map<string, number>();
  for (const [index, grant] of listOf(grants).entries()) {
    if (!isRecord(grant)) continue;
    const path = ['grants', index];
    const folder = checkFolder(grant['folder'], [...path, 'folder'], report);
    const { to } = grant;
    if (!isSubjectShape(to)) continue;
    const subject = readSubject(to);
    if (subject.kind === 'person' && !(isRecord(people) && Object.hasOwn(people, subject.name))) {
      report([...path, 'to', 'person'], `must be a name of "people", and is ${quoted(subject.name)}.`);
    }
    const key = folder === undefined ? '' : `${names.possible(folder)}\0${subjectKey(subject)}`;
    const before = folder === undefined ? undefined : first.get(key);
    if (before === undefined) first.set(key, index);
    else report(path, `is for the same folder and the same ones as that of line ${json.lineOf(['grants', before])}.`);
  }
  return mistakes;
}

/** Returns the subject of a grant. */
export function readSubject(to: SubjectShape): Subject {
  if (typeof to === 'string') return { kind: to };
  return 'person' in to ? { kind: 'person', name: to.person } : { kind: 'group', name: to.group };
}

type Report = (path: JsonPath, text: string) => void;

/** Checks one user. `owners` maps each token's hash to its user. */
function checkPerson(
  name: string,
  { password, tokens }: Readonly<Record<string, unknown>>,
  { owners, report }: { owners: Map<string, string>; report: Report },
): void {
  const path = ['people', name];
  const reading = typeof password === 'string' ? readPasswordHash(password) : undefined;
  if (reading && 'problem' in reading) report([...path, 'password'], `${reading.problem}.`);
  const names = new Set<unknown>();
  for (const [index, token] of listOf(tokens).entries()) {
    if (!isRecord(token)) continue;
    const at = [...path, 'tokens', index];
    if (names.has(token['name'])) report([...at, 'name'], 'is the name of another token of this person already.');
    if (typeof token['name'] === 'string') names.add(token['name']);
    checkExpiry(token['expires'], [...at, 'expires'], report);
    const { hash } = token;
    if (typeof hash !== 'string') continue;
    const owner = owners.get(hash);
    if (owner === undefined) owners.set(hash, name);
    else report([...at, 'hash'], `is the hash of a token of ${quoted(owner)} already.`);
  }
}

function checkExpiry(expires: unknown, path: JsonPath, report: Report): void {
  if (typeof expires !== 'string' || parseInstant(expires)) return;
  report(path, `must be an instant with its zone, such as "2027-01-01T00:00:00Z"${describeValue(path, expires)}.`);
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

/*
 * The schema of an access file. Validation, types and docs/access.schema.json derive from it. A `title` is the
 * description of a valid value in messages.
 */

const NAME_TITLE = 'a name of 1 to 200 characters without control characters';

const Name = Type.String({ pattern: NAME_PATTERN, title: NAME_TITLE });

const TokenShape = Type.Object(
  {
    name: Name,
    hash: Type.String({
      pattern: '^sha256:[A-Za-z0-9_-]{43}$',
      title: 'a hash as "holdall token new" prints it',
      description: 'What `holdall token new` prints; the token itself is not in the file.',
    }),
    expires: Type.Optional(
      Type.String({
        title: 'an instant such as "2027-01-01T00:00:00Z"',
        description: 'An instant of ISO 8601 with its zone, from which on the token is worth nothing.',
      }),
    ),
  },
  { additionalProperties: false, title: 'an object' },
);

const PersonShape = Type.Object(
  {
    password: Type.Optional(
      Type.String({
        title: 'a hash as "holdall password" prints it',
        description: 'What `holdall password` prints. Without it, there is no signing in by a password.',
      }),
    ),
    groups: Type.Optional(Type.Array(Name, { title: 'a list of names of groups' })),
    tokens: Type.Optional(Type.Array(TokenShape, { title: 'a list of tokens' })),
  },
  { additionalProperties: false, title: 'an object, with a password, groups and tokens or without' },
);

const SubjectShape = Type.Union(
  [
    Type.Object({ person: Name }, { additionalProperties: false }),
    Type.Object({ group: Name }, { additionalProperties: false }),
    Type.Literal('signed-in'),
    Type.Literal('everyone'),
  ],
  {
    title: '{ "person": "…" }, { "group": "…" }, "signed-in" or "everyone"',
    description: 'Whom it is for: a person, a group, everybody who is signed in, or everybody.',
  },
);

const GrantShape = Type.Object(
  {
    folder: Type.String({
      minLength: 1,
      title: 'the path of a folder, "/" for the root',
      description: 'The folder that it is for, with everything below it; `/` is all.',
    }),
    to: SubjectShape,
    rights: Type.Array(
      Type.Enum(PERMISSIONS, { title: `one of ${PERMISSIONS.map((right) => `"${right}"`).join(', ')}` }),
      {
        title: 'a list of rights',
        description:
          '`read`: list and fetch. `write`: upload and create. `manage`: rename, move, replace and delete. Without any, the folder is closed to them.',
      },
    ),
  },
  { additionalProperties: false, title: 'an object with "folder", "to" and "rights"' },
);

const AccessFileShape = Type.Object(
  {
    $schema: Type.Optional(Type.String({ title: 'a text' })),
    people: Type.Optional(
      Type.Record(Type.String({ pattern: NAME_PATTERN }), PersonShape, {
        additionalProperties: false,
        title: 'an object with people by their names',
        description:
          'Who there is, by name. Without a password, somebody comes by tokens or by a provider of identities.',
      }),
    ),
    grants: Type.Array(GrantShape, {
      title: 'a list of grants',
      description: 'Who may do what. What no grant gives is not allowed.',
    }),
  },
  { additionalProperties: false, title: 'an object with "people" and "grants"' },
);

/** The published JSON Schema. */
export const ACCESS_FILE_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  ...AccessFileShape,
  title: 'The access file of Holdall',
};

export type AccessFileShape = Static<typeof AccessFileShape>;
export type SubjectShape = Static<typeof SubjectShape>;

const ajv = new Ajv({ allErrors: true, verbose: true });

/** Returns whether a whole file has a valid shape. */
export const isAccessFileShape = ajv.compile<AccessFileShape>(AccessFileShape);
export const isSubjectShape = ajv.compile<SubjectShape>(SubjectShape);

/** A violation of the schema. */
export interface ShapeMistake {
  readonly path: JsonPath;
  readonly text: string;
  /** Whether the key is invalid instead of the value. */
  readonly atKey: boolean;
}

/** Returns all violations of the schema. Messages omit values that can be secrets. */
export function findShapeMistakes(value: unknown): ShapeMistake[] {
  if (isAccessFileShape(value)) return [];
  const errors = isAccessFileShape.errors ?? [];
  // A failed `anyOf` has one error per alternative. Only the error of the `anyOf` itself is helpful.
  const undecided = new Set(
    errors.filter(({ keyword }) => keyword === 'anyOf').map(({ instancePath }) => instancePath),
  );
  return errors
    .filter(({ keyword, instancePath }) => keyword === 'anyOf' || !isWithinAny(instancePath, undecided))
    .map(explain);
}

function isWithinAny(pointer: string, pointers: ReadonlySet<string>): boolean {
  for (let end = pointer.length; end > 0; end = pointer.lastIndexOf('/', end - 1)) {
    if (pointers.has(pointer.slice(0, end))) return true;
  }
  return false;
}

function explain({ instancePath, keyword, params, data, parentSchema }: ErrorObject): ShapeMistake {
  const path = instancePath
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const located = path.map((step, depth) => (isIndex(path, depth) ? Number(step) : step));
  if (keyword === 'required')
    return { path: located, atKey: false, text: `lacks "${String(params['missingProperty'])}".` };
  if (keyword === 'additionalProperties') {
    const key = String(params['additionalProperty']);
    const known = Object.keys((parentSchema as { properties?: object } | undefined)?.properties ?? {});
    const text = known.length === 0 ? `must be ${NAME_TITLE}.` : `is unknown here; known are ${known.join(', ')}.`;
    return { path: [...located, key], atKey: true, text };
  }
  const title = String((parentSchema as { title?: string } | undefined)?.title);
  return { path: located, atKey: false, text: `must be ${title}${describeValue(located, data)}.` };
}

/**
 * Returns whether a path step is an array index. In `people`, `groups` and `tokens` are the only arrays. A username
 * can consist of digits too.
 */
function isIndex(path: readonly string[], depth: number): boolean {
  return path[0] === 'grants' ? depth === 1 || (path[2] === 'rights' && depth === 3) : depth === 3;
}

/** Returns a description of an invalid value. Omits strings that could be a misplaced secret. */
export function describeValue(path: JsonPath, value: unknown): string {
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return `, and is ${String(value)}`;
  if (Array.isArray(value)) return ', and is a list';
  if (typeof value === 'object') return ', and is an object';
  if (typeof value !== 'string') return '';
  const [top, , field, , detail] = path;
  const isShown = top === 'people' ? field === 'groups' || detail === 'expires' : top === 'grants' && path.length > 1;
  return isShown && !SECRET.test(value) ? `, and is ${quoted(value)}` : '';
}

const SECRET = /holdall_|scrypt:|sha256:/;
