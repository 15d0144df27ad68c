import { Ajv, type ErrorObject } from 'ajv';
import { type Static, Type } from 'typebox';
import { quoted } from '../domain/error.ts';
import type { JsonPath } from './located-json.ts';
import { NAME_PATTERN } from './names.ts';
import { RIGHTS } from './rights.ts';

/*
 * The shape of an access file: one source for checking, types and docs/access.schema.json. A `title` is what a message
 * says that a value must be.
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
    rights: Type.Array(Type.Enum(RIGHTS, { title: `one of ${RIGHTS.map((right) => `"${right}"`).join(', ')}` }), {
      title: 'a list of rights',
      description:
        '`read`: list and fetch. `write`: upload and create. `manage`: rename, move, replace and delete. Without any, the folder is closed to them.',
    }),
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

/** The schema as it is published. */
export const ACCESS_FILE_SCHEMA = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  ...AccessFileShape,
  title: 'The access file of Holdall',
};

export type AccessFileShape = Static<typeof AccessFileShape>;
export type SubjectShape = Static<typeof SubjectShape>;

const ajv = new Ajv({ allErrors: true, verbose: true });

/** Whether all of a file is of the right shape. */
export const isAccessFileShape = ajv.compile<AccessFileShape>(AccessFileShape);
export const isSubjectShape = ajv.compile<SubjectShape>(SubjectShape);

/** What is wrong with the shape of something. */
export interface ShapeMistake {
  readonly path: JsonPath;
  readonly text: string;
  /** Whether it is the key that is wrong, and not the value. */
  readonly atKey: boolean;
}

/** All that is wrong with the shape of a file. What could be a secret is not shown. */
export function findShapeMistakes(value: unknown): ShapeMistake[] {
  if (isAccessFileShape(value)) return [];
  const errors = isAccessFileShape.errors ?? [];
  // Why something is none of several alternatives is no help, once for each of them.
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

/** In people, `groups` and `tokens` are the only lists; a name of a person may be a number as well. */
function isIndex(path: readonly string[], depth: number): boolean {
  return path[0] === 'grants' ? depth === 1 || (path[2] === 'rights' && depth === 3) : depth === 3;
}

/** What stands there instead, but for texts that may be a secret which was put into the wrong place. */
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
