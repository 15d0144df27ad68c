import { type FilePath, type FolderPath, isWithin, ROOT } from '../domain/path.ts';
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
  /** The folders strictly below one that grants to somebody name, whatever these give. */
  namedBelow(who: Identity | undefined, folder: FolderPath): readonly FolderPath[];
}

export function createPolicy(people: readonly Person[], grants: readonly Grant[]): Policy {
  const byName = new Map(people.map((person) => [person.name, person]));
  const byToken = new Map(people.flatMap((person) => person.tokens.map((token) => [token.hash, { person, token }])));
  const indexed = indexGrants(grants);

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

/** The grants for one subject: found by their folders, however many there are. */
interface SubjectGrants {
  readonly byFolder: ReadonlyMap<string, readonly Grant[]>;
  /** In the order of `<`, in which all that is below a folder stands together. */
  readonly folders: readonly FolderPath[];
}

function indexGrants(grants: readonly Grant[]): ReadonlyMap<string, SubjectGrants> {
  const bySubject = Map.groupBy(grants, ({ to }) => keyOf(to));
  return new Map(
    [...bySubject].map(([subject, its]) => {
      const byFolder = Map.groupBy(its, ({ folder }) => folder);
      return [subject, { byFolder, folders: [...byFolder.keys()].toSorted(compareUnits) }];
    }),
  );
}

const compareUnits = (left: string, right: string) => (left < right ? -1 : Number(left > right));

function decideAmong(mine: readonly SubjectGrants[], right: Right, path: FilePath | FolderPath): Decision {
  const above = foldersAbove(path);
  const applying: Grant[] = [];
  for (const { byFolder } of mine) for (const folder of above) applying.push(...(byFolder.get(folder) ?? NONE));
  const holding: Grant[] = [];
  const overruled: { grant: Grant; by: Grant }[] = [];
  for (const grant of applying) {
    const by = applying.find((other) => overrules(other, grant));
    if (by) overruled.push({ grant, by });
    else holding.push(grant);
  }
  return { allowed: holding.some(({ rights }) => rights.includes(right)), holding, overruled };
}

const NONE: readonly Grant[] = [];

const givesAny = ({ holding }: Decision) => holding.some(({ rights }) => rights.length > 0);

/** The folders that a path is within, from the root on, itself too if it is one. */
function foldersAbove(path: FilePath | FolderPath): readonly string[] {
  const folders: string[] = [ROOT];
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
    folders.push(path.slice(0, slash + 1));
  }
  return folders;
}

/** The folders strictly below one that grants name. */
function foldersBelow(mine: readonly SubjectGrants[], folder: FolderPath): readonly FolderPath[] {
  const found = new Set<FolderPath>();
  for (const { folders } of mine) {
    for (let index = firstFrom(folders, folder); index < folders.length; index++) {
      const named = folders[index];
      if (named === undefined || !isWithin(named, folder)) break;
      if (named !== folder) found.add(named);
    }
  }
  return [...found];
}

/** The index of the first of sorted folders that does not come before `folder`. */
function firstFrom(folders: readonly FolderPath[], folder: FolderPath): number {
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

function overrules(one: Grant, other: Grant): boolean {
  if (one === other || !isWithin(one.folder, other.folder)) return false;
  if (other.to.kind === 'everyone') return one.to.kind === 'everyone' && one.folder !== other.folder;
  const isSame = one.folder === other.folder;
  if (one.to.kind === other.to.kind) return !isSame && keyOf(one.to) === keyOf(other.to);
  return CLOSENESS[one.to.kind] > CLOSENESS[other.to.kind];
}

/** Names a subject unlike any other: no kind has a `:` in it. */
export const keyOf = (subject: Subject) => ('name' in subject ? `${subject.kind}:${subject.name}` : subject.kind);
