import { EXACT_NAMES, type NameComparison } from '../domain/name-comparison.ts';
import { type FilePath, type FolderPath, ROOT } from '../domain/path.ts';
import type { Identity } from './identity.ts';
import type { Right } from './rights.ts';

/** Whom a grant is for. */
export type Subject =
  | { readonly kind: 'person'; readonly name: string }
  | { readonly kind: 'group'; readonly name: string }
  | { readonly kind: 'signed-in' }
  | { readonly kind: 'everyone' };

/** What somebody may do in a folder and everything below it; with no rights, nothing. */
export interface Grant {
  readonly folder: FolderPath;
  readonly to: Subject;
  readonly rights: readonly Right[];
}

/** A token that stands for its person, known by the hash of it. */
export interface Token {
  readonly name: string;
  readonly hash: string;
  readonly expires: Date | undefined;
}

export interface Person {
  readonly name: string;
  /** As `passwords.ts` writes it; without one, there is no signing in by a password. */
  readonly password: string | undefined;
  readonly groups: readonly string[];
  readonly tokens: readonly Token[];
}

/** Who may do something, and by which grants. */
export interface Decision {
  readonly allowed: boolean;
  /** Those that hold: they apply, and none overrules them. */
  readonly holding: readonly Grant[];
  /** Those that apply, and the one that overrules each. */
  readonly overruled: readonly { readonly grant: Grant; readonly by: Grant }[];
}

/** What an access file says: who there is, and what they may do. */
export interface Policy {
  /** How the store compares names. */
  readonly names: NameComparison;
  /** Whether anybody has a password. */
  readonly hasPasswords: boolean;
  person(name: string): Person | undefined;
  /** The person of the token with this hash, and the token; expired ones too. */
  tokenOf(hash: string): { readonly person: Person; readonly token: Token } | undefined;
  /**
   * Whether somebody may do something to one file or folder. A grant applies to its folder and everything below it, by
   * whole segments, and to those it is for. Of those that apply, one overrules another when its folder is the same or
   * deeper and it is for the same subject or a closer one: a person is closer than a group, a group than all who are
   * signed in. What everyone may is overruled only by what everyone may, since signing in never takes anything
   * away. Somebody may what any grant that holds gives; nothing, where none applies.
   */
  decide(who: Identity | undefined, right: Right, path: FilePath | FolderPath): Decision;
  may(who: Identity | undefined, right: Right, path: FilePath | FolderPath): boolean;
  /** Whether somebody may do something to a folder and to everything that could be in it. */
  mayThroughout(who: Identity | undefined, right: Right, folder: FolderPath): boolean;
  /** Whether somebody may do something anywhere. */
  maySomewhere(who: Identity | undefined, right: Right): boolean;
  /** Whether a folder shows: something may be done in it, or somewhere below it. */
  isVisible(who: Identity | undefined, folder: FolderPath): boolean;
  /**
   * The folders strictly below one that grants to somebody name, whatever these give. Each begins with `folder` as it is
   * spelled in the argument.
   */
  namedBelow(who: Identity | undefined, folder: FolderPath): readonly FolderPath[];
}

/**
 * Creates a policy for a store that compares names as `names` does. Where the store folds names, a grant gives rights only in
 * spellings that are certain to name its folder; every other spelling that may name it is closed.
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

  /** The grants that are for somebody, by subject. */
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

/** The grants for one subject: found by their folders, however many there are. Keys are of `NameComparison.possible`. */
interface SubjectGrants {
  readonly byFolder: ReadonlyMap<string, readonly IndexedGrant[]>;
  /** In the order of `<`, in which all that is below a folder stands together. */
  readonly folders: readonly string[];
}

interface IndexedGrant {
  readonly grant: Grant;
  /** The folder's key of `NameComparison.certain`. */
  readonly certain: string;
  /** The grant without its rights, for spellings that only may name its folder. */
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

/** A grant whose folder has a path in it, and the depth of that folder. */
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

/** The folders that a path is within, from the root on, itself too if it is one. */
function foldersAbove(path: string): readonly string[] {
  const folders: string[] = [ROOT];
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
    folders.push(path.slice(0, slash + 1));
  }
  return folders;
}

/** The folders strictly below one that grants name, spelled as `folder` as far as that. */
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

/** The index of the first of sorted folders that does not come before `folder`. */
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

/** How closely a grant speaks to somebody. */
const CLOSENESS = { everyone: 0, 'signed-in': 1, group: 2, person: 3 } as const;

/** Whether one of the grants that apply to a path overrules another. The folders of both have the path in them. */
function overrules(one: Applying, other: Applying): boolean {
  if (one === other || one.depth < other.depth) return false;
  const [closer, further] = [one.grant.to, other.grant.to];
  const isSame = one.depth === other.depth;
  if (further.kind === 'everyone') return closer.kind === 'everyone' && !isSame;
  if (closer.kind === further.kind) return !isSame && keyOf(closer) === keyOf(further);
  return CLOSENESS[closer.kind] > CLOSENESS[further.kind];
}

/** Names a subject unlike any other: no kind has a `:` in it. */
export const keyOf = (subject: Subject) => ('name' in subject ? `${subject.kind}:${subject.name}` : subject.kind);
