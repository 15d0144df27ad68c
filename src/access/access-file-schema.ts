import { Ajv, type ErrorObject } from 'ajv';
import { type Static, Type } from 'typebox';
import { quoted } from '../model/error.ts';
import type { JsonPath } from './access-file-syntax.ts';
import { NAME_PATTERN, PERMISSIONS } from './policy.ts';

/*
 * The schema of an access file. Validation, types and docs/reference/access.schema.json derive from it. A `title` is
 * the description of a valid value in messages.
 */

const NAME_TITLE = 'a name of 1 to 200 characters without control characters';

const Name = Type.String({ pattern: NAME_PATTERN, title: NAME_TITLE });

const TokenShape = Type.Object(
  {
    name: Name,
    hash: Type.String({
      pattern: '^sha256:[A-Za-z0-9_-]{43}$',
      title: 'a hash that "holdall token new" printed',
      description: 'The hash that `holdall token new` prints. The file does not contain the token itself.',
    }),
    expires: Type.Optional(
      Type.String({
        title: 'a time such as "2027-01-01T00:00:00Z"',
        description: 'ISO 8601 time with a zone, at which the token expires.',
      }),
    ),
  },
  { additionalProperties: false, title: 'an object' },
);

const UserShape = Type.Object(
  {
    password: Type.Optional(
      Type.String({
        title: 'a hash that "holdall password" printed',
        description: "The hash that `holdall password` prints. Without it, the user can't sign in with a password.",
      }),
    ),
    groups: Type.Optional(Type.Array(Name, { title: 'a list of group names' })),
    tokens: Type.Optional(Type.Array(TokenShape, { title: 'a list of tokens' })),
  },
  { additionalProperties: false, title: 'an object with optional "password", "groups" and "tokens"' },
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
    description: 'The users to whom the grant applies: one user, a group, all signed-in users, or everyone.',
  },
);

const GrantShape = Type.Object(
  {
    folder: Type.String({
      minLength: 1,
      title: 'the path of a folder, "/" for the root',
      description: 'The folder, including everything below it. `/` is the root.',
    }),
    to: SubjectShape,
    rights: Type.Array(
      Type.Enum(PERMISSIONS, { title: `one of ${PERMISSIONS.map((right) => `"${right}"`).join(', ')}` }),
      {
        title: 'a list of permissions',
        description:
          '`read`: list and fetch. `write`: upload and create. `manage`: rename, move, replace and delete. An empty list denies access.',
      },
    ),
  },
  { additionalProperties: false, title: 'an object with "folder", "to" and "rights"' },
);

const AccessFileShape = Type.Object(
  {
    $schema: Type.Optional(Type.String({ title: 'a string' })),
    people: Type.Optional(
      Type.Record(Type.String({ pattern: NAME_PATTERN }), UserShape, {
        additionalProperties: false,
        title: 'an object with users by username',
        description:
          'The users by username. A user without a password authenticates with a token or an identity provider.',
      }),
    ),
    grants: Type.Array(GrantShape, {
      title: 'a list of grants',
      description: 'The permissions of users in folders. Without a matching grant, access is denied.',
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
  const anyOfPointers = new Set(
    errors.filter(({ keyword }) => keyword === 'anyOf').map(({ instancePath }) => instancePath),
  );
  return errors
    .filter(({ keyword, instancePath }) => keyword === 'anyOf' || !isWithinAny(instancePath, anyOfPointers))
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
    return { path: located, atKey: false, text: `requires "${String(params['missingProperty'])}".` };
  if (keyword === 'additionalProperties') {
    const key = String(params['additionalProperty']);
    const known = Object.keys((parentSchema as { properties?: object } | undefined)?.properties ?? {});
    const text = known.length === 0 ? `must be ${NAME_TITLE}.` : `is not a valid key. Valid keys: ${known.join(', ')}.`;
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
  if (value === null || typeof value === 'number' || typeof value === 'boolean') return `, not ${String(value)}`;
  if (Array.isArray(value)) return ', not a list';
  if (typeof value === 'object') return ', not an object';
  if (typeof value !== 'string') return '';
  const [top, , field, , detail] = path;
  const isShown = top === 'people' ? field === 'groups' || detail === 'expires' : top === 'grants' && path.length > 1;
  return isShown && !SECRET.test(value) ? `, not ${quoted(value)}` : '';
}

const SECRET = /holdall_|scrypt:|sha256:/;
