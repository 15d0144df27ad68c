import { EXACT_NAMES, type NameComparison } from '../model/name-comparison.ts';
import { type FilePath, type FolderPath, ROOT } from '../model/path.ts';
import type { Identity } from './identity.ts';

/** The users to which a grant applies. */
export type Subject =
  | { readonly kind: 'person'; readonly name: string }
  | { readonly kind: 'group'; readonly name: string }
  | { readonly kind: 'signed-in' }
  | { readonly kind: 'everyone' };

/** The permissions of a subject in a folder and everything below it. An empty `rights` denies access. */
export interface Grant {
  readonly folder: FolderPath;
  readonly to: Subject;
  readonly rights: readonly Right[];
}

/** A token of a user, identified by its hash. */
export interface Token {
  readonly name: string;
  readonly hash: string;
  readonly expires: Date | undefined;
}

export interface Person {
  readonly name: string;
  /** Hash in the format of `credentials.ts`. Undefined if the user can't sign in with a password. */
  readonly password: string | undefined;
  readonly groups: readonly string[];
  readonly tokens: readonly Token[];
}

/** The result of a permission check, with the grants that decided it. */
export interface Decision {
  readonly allowed: boolean;
  /** Grants that apply and that no other grant overrules. */
  readonly holding: readonly Grant[];
  /** Grants that apply but are overruled, each with the grant that overrules it. */
  readonly overruled: readonly { readonly grant: Grant; readonly by: Grant }[];
}

/** The content of an access file: users and their permissions. */
export interface Policy {
  /** How the store compares names. */
  readonly names: NameComparison;
  /** Whether any user has a password. */
  readonly hasPasswords: boolean;
  person(name: string): Person | undefined;
  /** Returns the token with this hash and its user, also if the token has expired. */
  tokenOf(hash: string): { readonly person: Person; readonly token: Token } | undefined;
  /**
   * Decides whether a user has a permission for one file or folder. A grant applies to its folder and everything below
   * it, by whole path segments.
   *
   * Among the grants that apply, one overrules another if its folder is the same or deeper and its subject is the same
   * or more specific. A user is more specific than a group, and a group is more specific than all signed-in users. Only
   * grants for everyone overrule grants for everyone, so signing in never removes permissions.
   *
   * A user's permissions are the union of all grants that remain. Without a matching grant, access is denied.
   */
  decide(who: Identity | undefined, right: Right, path: FilePath | FolderPath): Decision;
  may(who: Identity | undefined, right: Right, path: FilePath | FolderPath): boolean;
  /** Returns whether a user has a permission for a folder and for everything that could be in it. */
  mayThroughout(who: Identity | undefined, right: Right, folder: FolderPath): boolean;
  /** Returns whether a user has a permission for any folder. */
  maySomewhere(who: Identity | undefined, right: Right): boolean;
  /** Returns whether a folder is visible: the user has a permission in it or in a folder below it. */
  isVisible(who: Identity | undefined, folder: FolderPath): boolean;
  /**
   * Returns the folders strictly below `folder` that grants for the user name, whatever their permissions. Each path
   * begins with `folder` as it is spelled in the argument.
   */
  namedBelow(who: Identity | undefined, folder: FolderPath): readonly FolderPath[];
}

/**
 * Creates a policy for a store that compares names as `names` does. If the store folds names, a grant gives permissions
 * only in spellings that certainly name its folder. Every other spelling that may name it is closed.
 */
export function createPolicy(
  people: readonly Person[],
  grants: readonly Grant[],
  names: NameComparison = EXACT_NAMES,
): Policy {
  const byName = new Map(people.map((person) => [person.name, person]));
  const byToken = new Map(people.flatMap((person) => person.tokens.map((token) => [token.hash, { person, token }])));
  const indexed = indexGrants(grants, names);
  const decideAmong = (mine: readonly SubjectGrants[], right: Right, path: FilePath | FolderPath) =>
    decide(applyingTo(path, mine, names), right);
  const foldersBelow = (mine: readonly SubjectGrants[], folder: FolderPath) => namedBelow(mine, folder, names);

  const grantsOf = (subjects: readonly Subject[]): readonly SubjectGrants[] =>
    subjects.map((subject) => indexed.get(keyOf(subject))).filter((mine) => mine !== undefined);
  const grantsForAll = grantsOf([{ kind: 'everyone' }]);

  /** Returns the grants that apply to a user, by subject. */
  const grantsFor = (who: Identity | undefined): readonly SubjectGrants[] => {
    if (!who) return grantsForAll;
    const groups = new Set([...who.groups, ...(byName.get(who.name)?.groups ?? [])]);
    return grantsOf([
      { kind: 'everyone' },
      { kind: 'signed-in' },
      { kind: 'person', name: who.name },
      ...[...groups].map((name) => ({ kind: 'group', name }) as const),
    ]);
  };

  const policy: Policy = {
    names,
    hasPasswords: people.some(({ password }) => password !== undefined),
    person: (name) => byName.get(name),
    tokenOf: (hash) => byToken.get(hash),
    decide: (who, right, path) => decideAmong(grantsFor(who), right, path),
    may: (who, right, path) => policy.decide(who, right, path).allowed,
    mayThroughout(who, right, folder) {
      const mine = grantsFor(who);
      return [folder, ...foldersBelow(mine, folder)].every((edge) => decideAmong(mine, right, edge).allowed);
    },
    maySomewhere(who, right) {
      const mine = grantsFor(who);
      return [ROOT, ...foldersBelow(mine, ROOT)].some((place) => decideAmong(mine, right, place).allowed);
    },
    isVisible(who, folder) {
      const mine = grantsFor(who);
      const isUsable = (place: FolderPath) => givesAny(decideAmong(mine, 'read', place));
      return isUsable(folder) || foldersBelow(mine, folder).some(isUsable);
    },
    namedBelow: (who, folder) => foldersBelow(grantsFor(who), folder),
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
  readonly certain: string;
  /** The grant without permissions, for spellings that only possibly name its folder. */
  readonly closed: Grant;
}

function indexGrants(grants: readonly Grant[], names: NameComparison): ReadonlyMap<string, SubjectGrants> {
  const bySubject = Map.groupBy(grants, ({ to }) => keyOf(to));
  return new Map(
    [...bySubject].map(([subject, its]) => {
      const indexed = its.map((grant) => ({
        grant,
        certain: names.certain(grant.folder),
        closed: { ...grant, rights: [] },
      }));
      const byFolder = Map.groupBy(indexed, ({ grant }) => names.possible(grant.folder));
      return [subject, { byFolder, folders: [...byFolder.keys()].toSorted(compareUnits) }];
    }),
  );
}

const compareUnits = (left: string, right: string) => (left < right ? -1 : Number(left > right));

/** A grant whose folder contains a path, and the depth of that folder. */
interface Applying {
  readonly grant: Grant;
  readonly depth: number;
}

function applyingTo(path: FilePath | FolderPath, mine: readonly SubjectGrants[], names: NameComparison): Applying[] {
  const possible = foldersAbove(names.possible(path));
  const certain = names === EXACT_NAMES ? possible : foldersAbove(names.certain(path));
  const applying: Applying[] = [];
  for (const { byFolder } of mine) {
    for (const [depth, folder] of possible.entries()) {
      for (const { grant, closed, certain: key } of byFolder.get(folder) ?? NONE) {
        applying.push({ grant: key === certain[depth] ? grant : closed, depth });
      }
    }
  }
  return applying;
}

const NONE: readonly IndexedGrant[] = [];

function decide(applying: readonly Applying[], right: Right): Decision {
  const holding: Grant[] = [];
  const overruled: { grant: Grant; by: Grant }[] = [];
  for (const one of applying) {
    const by = applying.find((other) => overrules(other, one));
    if (by) overruled.push({ grant: one.grant, by: by.grant });
    else holding.push(one.grant);
  }
  return { allowed: holding.some(({ rights }) => rights.includes(right)), holding, overruled };
}

const givesAny = ({ holding }: Decision) => holding.some(({ rights }) => rights.length > 0);

/** Returns the folders that contain a path, from the root down, including the path itself if it is a folder. */
function foldersAbove(path: string): readonly string[] {
  const folders: string[] = [ROOT];
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
    folders.push(path.slice(0, slash + 1));
  }
  return folders;
}

/** Returns the folders strictly below `folder` that grants name, each with `folder` as its prefix. */
function namedBelow(mine: readonly SubjectGrants[], folder: FolderPath, names: NameComparison): readonly FolderPath[] {
  const key = names.possible(folder);
  const depth = folder.split('/').length - 1;
  const found = new Set<FolderPath>();
  for (const { folders, byFolder } of mine) {
    for (let index = firstFrom(folders, key); index < folders.length; index++) {
      const named = folders[index];
      if (!named?.startsWith(key)) break;
      if (named === key) continue;
      for (const { grant } of byFolder.get(named) ?? NONE) {
        found.add((folder + grant.folder.split('/').slice(depth).join('/')) as FolderPath);
      }
    }
  }
  return [...found];
}

/** Returns the index of the first of the sorted folders that is not before `folder`. */
function firstFrom(folders: readonly string[], folder: string): number {
  let low = 0;
  let high = folders.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((folders[middle] ?? '') < folder) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** How specific a subject is. */
const CLOSENESS = { everyone: 0, 'signed-in': 1, group: 2, person: 3 } as const;

/** Returns whether `one` overrules `other`. Both grants apply to the same path. */
function overrules(one: Applying, other: Applying): boolean {
  if (one === other || one.depth < other.depth) return false;
  const [closer, further] = [one.grant.to, other.grant.to];
  const isSame = one.depth === other.depth;
  if (further.kind === 'everyone') return closer.kind === 'everyone' && !isSame;
  if (closer.kind === further.kind) return !isSame && keyOf(closer) === keyOf(further);
  return CLOSENESS[closer.kind] > CLOSENESS[further.kind];
}

/** Returns a unique key of a subject. No kind contains a `:`. */
export const keyOf = (subject: Subject) => ('name' in subject ? `${subject.kind}:${subject.name}` : subject.kind);

/**
 * The permissions that a grant can give for a folder and everything below it. `read` allows listing and fetching.
 * `write` allows uploading new files and creating folders. `manage` allows renaming, moving, replacing and deleting.
 * No permission includes another.
 */
export const RIGHTS = ['read', 'write', 'manage'] as const;

export type Right = (typeof RIGHTS)[number];

/** The policy without an access file: everyone has all permissions. */
export const OPEN_POLICY = createPolicy([], [{ folder: ROOT, to: { kind: 'everyone' }, rights: RIGHTS }]);
