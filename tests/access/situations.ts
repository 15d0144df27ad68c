import { type Grant, RIGHTS, type Right, type Subject } from '../../src/access/policy.ts';
import { type FolderPath, parentOf, parseFolder } from '../../src/model/path.ts';

/** The grants of a client around a folder, and the resulting rights. */
export interface Situation {
  readonly name: string;
  readonly grants: readonly Grant[];
  /** The rights in the folder itself. */
  readonly rights: readonly Right[];
  /** The rights in the folder and in everything below it. */
  readonly throughout: readonly Right[];
  /** The children without the right to read, where the folder itself is readable. */
  readonly hidden: readonly FolderPath[];
  /** The children that a listing shows without the right to read the folder; undefined where listing is refused. */
  readonly traversable: readonly FolderPath[] | undefined;
}

/** Returns the situations of a client in a folder that has a folder `sub/`, from the basic ones to the rare ones. */
export function situationsAt(
  folder: FolderPath,
  to: Subject,
): Readonly<Record<'basic' | 'usual' | 'rare', readonly Situation[]>> {
  const parent = parentOf(folder);
  const below = parseFolder(`${folder}sub`);
  const bare = folder.slice(0, -1);
  const grant = (place: FolderPath, rights: readonly Right[] = RIGHTS): Grant => ({ folder: place, to, rights });
  const similar = [`${bare}x/`, `${bare} x/`, `${bare}./`, `${bare.slice(0, -1)}/`, `${bare.toUpperCase()}/`];

  const exactly = (...rights: readonly Right[]): Situation => ({
    name: rights.join(' and '),
    grants: [grant(folder, rights)],
    rights,
    throughout: rights,
    hidden: [],
    traversable: [],
  });
  const nothing = (name: string, grants: readonly Grant[]): Situation => ({
    name,
    grants,
    rights: [],
    throughout: [],
    hidden: [],
    traversable: undefined,
  });

  return {
    basic: [nothing('no grant', []), exactly('read'), exactly('write'), exactly('manage'), exactly(...RIGHTS)],
    usual: [
      nothing('everything in a neighbour folder', [grant(parseFolder(`${parent}next`))]),
      nothing(
        'everything in folders with similar names',
        similar.map((text) => grant(parseFolder(text))),
      ),
      { ...exactly(...RIGHTS), name: 'everything in the parent', grants: [grant(parent)] },
    ],
    rare: [
      exactly('read', 'write'),
      exactly('read', 'manage'),
      exactly('write', 'manage'),
      nothing('everything in the parent, without any right in the folder', [grant(parent), grant(folder, [])]),
      { ...nothing('everything in a subfolder', [grant(below)]), traversable: [below] },
      {
        ...exactly(...RIGHTS),
        name: 'everything, without any right in a subfolder',
        grants: [grant(folder), grant(below, [])],
        throughout: [],
        hidden: [below],
      },
      nothing('the grants of another user', [
        { folder, to: { kind: 'person', name: 'somebody-else' }, rights: RIGHTS },
        { folder, to: { kind: 'group', name: 'others' }, rights: RIGHTS },
      ]),
    ],
  };
}

/** A grant of all rights in a folder. */
export const allAt = (folder: FolderPath, to: Subject): Grant => ({ folder, to, rights: RIGHTS });
