import { partitionPoint } from '../model/binary-search.ts';
import { EXACT_NAMES, type NameComparison } from '../model/name-comparison.ts';
import { type FilePath, type FolderPath, ROOT } from '../model/path.ts';

/** An authenticated user. An anonymous user is `undefined` instead. */
export interface Identity {
  /** The username in grants. */
  readonly name: string;
  /** The groups that the identity provider reported. The policy adds those of the access file. */
  readonly groups: readonly string[];
}

/** Names of users, groups and tokens: 1 to 200 characters, without control characters and lone surrogates. */
const NAME = /^[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,200}$/u;

/** The same rule as a pattern for JSON Schema. */
export const NAME_PATTERN = NAME.source;

export function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

/** The users to whom a grant applies. */
export type Subject =
  | { readonly kind: 'person'; readonly name: string }
  | { readonly kind: 'group'; readonly name: string }
  | { readonly kind: 'signed-in' }
  | { readonly kind: 'everyone' };

/** The permissions of a subject in a folder and everything below it. An empty `permissions` denies access. */
export interface Grant {
  readonly folder: FolderPath;
  readonly to: Subject;
  readonly permissions: readonly Permission[];
}

/** A token of a user, identified by its hash. */
export interface Token {
  readonly name: string;
  readonly hash: string;
  readonly expires: Date | undefined;
}

/** A user in the access file. */
export interface UserEntry {
  readonly name: string;
  /** Hash in the format of `credentials.ts`. Undefined if the user can't sign in with a password. */
  readonly password: string | undefined;
  readonly groups: readonly string[];
  readonly tokens: readonly Token[];
}

/** The result of a permission check, with the grants that decided it. */
export interface Decision {
  readonly allowed: boolean;
  /** Grants that apply and that no other grant overrides. */
  readonly effective: readonly Grant[];
  /** Grants that apply but are overridden, each with the grant that overrides it. */
  readonly overridden: readonly { readonly grant: Grant; readonly by: Grant }[];
}

/** The content of an access file: users and their permissions. */
export interface Policy {
  /** How the store compares names. */
  readonly names: NameComparison;
  /** Whether any user has a password. */
  readonly hasPasswords: boolean;
  userEntry(name: string): UserEntry | undefined;
  /** Returns the token with this hash and its user, also if the token has expired. */
  tokenOf(hash: string): { readonly user: UserEntry; readonly token: Token } | undefined;
  /**
   * Decides whether a user has a permission for one file or folder. A grant applies to its folder and everything below
   * it, by whole path segments.
   *
   * Among the grants that apply, one overrides another if its folder is the same or deeper and its subject is the same
   * or more specific. A user is more specific than a group, and a group is more specific than all signed-in users. Only
   * grants for everyone override grants for everyone, so signing in never removes permissions.
   *
   * A user's permissions are the union of all grants that remain. Without a matching grant, access is denied.
   */
  decide(user: Identity | undefined, permission: Permission, path: FilePath | FolderPath): Decision;
  allows(user: Identity | undefined, permission: Permission, path: FilePath | FolderPath): boolean;
  /** Returns whether a user has a permission for a folder and for everything that could be in it. */
  allowsThroughout(user: Identity | undefined, permission: Permission, folder: FolderPath): boolean;
  /** Returns whether a user has a permission for any folder. */
  allowsSomewhere(user: Identity | undefined, permission: Permission): boolean;
  /** Returns whether a folder is visible: the user has a permission in it or in a folder below it. */
  isVisible(user: Identity | undefined, folder: FolderPath): boolean;
  /**
   * Returns the folders strictly below `folder` that grants for the user name, whatever their permissions. Each path
   * starts with `folder` as it is spelled in the argument.
   */
  grantFoldersBelow(user: Identity | undefined, folder: FolderPath): readonly FolderPath[];
}

/**
 * Creates a policy for a store that compares names as `names` does. If the store folds names, a grant gives permissions
 * only in spellings that certainly name its folder. Every other spelling that might name it is closed.
 */
export function createPolicy(
  users: readonly UserEntry[],
  grants: readonly Grant[],
  names: NameComparison = EXACT_NAMES,
): Policy {
  const byName = new Map(users.map((user) => [user.name, user]));
  const byToken = new Map(users.flatMap((user) => user.tokens.map((token) => [token.hash, { user, token }])));
  const indexed = indexGrants(grants, names);
  const grantsOf = (subjects: readonly Subject[]): readonly SubjectGrants[] =>
    subjects.map((subject) => indexed.get(subjectKey(subject))).filter((found) => found !== undefined);
  const grantsForAll = grantsOf([{ kind: 'everyone' }]);

  const grantsFor = (user: Identity | undefined): readonly SubjectGrants[] => {
    if (!user) return grantsForAll;
    const groups = new Set([...user.groups, ...(byName.get(user.name)?.groups ?? [])]);
    return grantsOf([
      { kind: 'everyone' },
      { kind: 'signed-in' },
      { kind: 'person', name: user.name },
      ...[...groups].map((name) => ({ kind: 'group', name }) as const),
    ]);
  };
  const decideFor = (own: readonly SubjectGrants[], permission: Permission, path: FilePath | FolderPath) =>
    decide(applicableGrants(path, own, names), permission);

  const policy: Policy = {
    names,
    hasPasswords: users.some(({ password }) => password !== undefined),
    userEntry: (name) => byName.get(name),
    tokenOf: (hash) => byToken.get(hash),
    decide: (user, permission, path) => decideFor(grantsFor(user), permission, path),
    allows: (user, permission, path) => policy.decide(user, permission, path).allowed,
    allowsThroughout(user, permission, folder) {
      const own = grantsFor(user);
      const folders = [folder, ...grantFoldersBelow(own, folder, names)];
      return folders.every((each) => decideFor(own, permission, each).allowed);
    },
    allowsSomewhere(user, permission) {
      const own = grantsFor(user);
      const folders = [ROOT, ...grantFoldersBelow(own, ROOT, names)];
      return folders.some((each) => decideFor(own, permission, each).allowed);
    },
    isVisible(user, folder) {
      const own = grantsFor(user);
      const isAccessible = (each: FolderPath) => grantsAny(decideFor(own, 'read', each));
      return isAccessible(folder) || grantFoldersBelow(own, folder, names).some(isAccessible);
    },
    grantFoldersBelow: (user, folder) => grantFoldersBelow(grantsFor(user), folder, names),
  };
  return policy;
}

/** The grants of one subject, indexed by folder. Keys are those of `NameComparison.possible`. */
interface SubjectGrants {
  readonly byFolder: ReadonlyMap<string, readonly IndexedGrant[]>;
  /** Sorted by `<`, so that all folders below one folder are adjacent. */
  readonly folders: readonly string[];
}

interface IndexedGrant {
  readonly grant: Grant;
  /** The `NameComparison.certain` key of the folder. */
  readonly certainKey: string;
  /** The grant without permissions, for spellings that only possibly name its folder. */
  readonly denied: Grant;
}

function indexGrants(grants: readonly Grant[], names: NameComparison): ReadonlyMap<string, SubjectGrants> {
  const bySubject = Map.groupBy(grants, ({ to }) => subjectKey(to));
  return new Map(
    [...bySubject].map(([subject, subjectGrants]) => {
      const indexed = subjectGrants.map((grant) => ({
        grant,
        certainKey: names.certain(grant.folder),
        denied: { ...grant, permissions: [] },
      }));
      const byFolder = Map.groupBy(indexed, ({ grant }) => names.possible(grant.folder));
      return [subject, { byFolder, folders: [...byFolder.keys()].toSorted(compareCodeUnits) }];
    }),
  );
}

const compareCodeUnits = (left: string, right: string) => (left < right ? -1 : Number(left > right));

/** A grant whose folder contains a path, and the depth of that folder. */
interface ApplicableGrant {
  readonly grant: Grant;
  readonly depth: number;
}

function applicableGrants(
  path: FilePath | FolderPath,
  own: readonly SubjectGrants[],
  names: NameComparison,
): ApplicableGrant[] {
  const possible = foldersOf(names.possible(path));
  const certain = names === EXACT_NAMES ? possible : foldersOf(names.certain(path));
  const applicable: ApplicableGrant[] = [];
  for (const { byFolder } of own) {
    for (const [depth, folder] of possible.entries()) {
      for (const { grant, denied, certainKey } of byFolder.get(folder) ?? NO_GRANTS) {
        applicable.push({ grant: certainKey === certain[depth] ? grant : denied, depth });
      }
    }
  }
  return applicable;
}

const NO_GRANTS: readonly IndexedGrant[] = [];

function decide(applicable: readonly ApplicableGrant[], permission: Permission): Decision {
  const effective: Grant[] = [];
  const overridden: { grant: Grant; by: Grant }[] = [];
  for (const candidate of applicable) {
    const by = applicable.find((other) => overrides(other, candidate));
    if (by) overridden.push({ grant: candidate.grant, by: by.grant });
    else effective.push(candidate.grant);
  }
  return {
    allowed: effective.some(({ permissions }) => permissions.includes(permission)),
    effective,
    overridden,
  };
}

const grantsAny = ({ effective }: Decision) => effective.some(({ permissions }) => permissions.length > 0);

/** Returns the folders that contain a path, from the root down, including the path itself if it is a folder. */
function foldersOf(path: string): readonly string[] {
  const folders: string[] = [ROOT];
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
    folders.push(path.slice(0, slash + 1));
  }
  return folders;
}

/** Returns the folders strictly below `folder` that grants name, each with `folder` as its prefix. */
function grantFoldersBelow(
  own: readonly SubjectGrants[],
  folder: FolderPath,
  names: NameComparison,
): readonly FolderPath[] {
  const key = names.possible(folder);
  const depth = folder.split('/').length - 1;
  const found = new Set<FolderPath>();
  for (const { folders, byFolder } of own) {
    const start = partitionPoint(folders.length, (index) => (folders[index] ?? '') < key);
    for (let index = start; index < folders.length; index++) {
      const grantKey = folders[index];
      if (!grantKey?.startsWith(key)) break;
      if (grantKey === key) continue;
      for (const { grant } of byFolder.get(grantKey) ?? NO_GRANTS) {
        found.add((folder + grant.folder.split('/').slice(depth).join('/')) as FolderPath);
      }
    }
  }
  return [...found];
}

/** How specific a subject is. */
const SPECIFICITY = { everyone: 0, 'signed-in': 1, group: 2, person: 3 } as const;

/** Returns whether `left` overrides `right`. Both grants apply to the same path. */
function overrides(left: ApplicableGrant, right: ApplicableGrant): boolean {
  if (left === right || left.depth < right.depth) return false;
  const [leftSubject, rightSubject] = [left.grant.to, right.grant.to];
  const isDeeper = left.depth > right.depth;
  if (rightSubject.kind === 'everyone') return leftSubject.kind === 'everyone' && isDeeper;
  if (leftSubject.kind === rightSubject.kind) return isDeeper && subjectKey(leftSubject) === subjectKey(rightSubject);
  return SPECIFICITY[leftSubject.kind] > SPECIFICITY[rightSubject.kind];
}

/** Returns a unique key of a subject. No kind contains a `:`. */
export const subjectKey = (subject: Subject) => ('name' in subject ? `${subject.kind}:${subject.name}` : subject.kind);

/**
 * The permissions that a grant can give for a folder and everything below it. `read` allows listing and fetching.
 * `write` allows uploading new files and creating folders. `manage` allows renaming, moving, replacing and deleting.
 * No permission includes another.
 */
export const PERMISSIONS = ['read', 'write', 'manage'] as const;

export type Permission = (typeof PERMISSIONS)[number];

/** The policy without an access file: everyone has all permissions. */
export const OPEN_POLICY = createPolicy([], [{ folder: ROOT, to: { kind: 'everyone' }, permissions: PERMISSIONS }]);
