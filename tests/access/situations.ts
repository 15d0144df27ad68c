import { type Grant, PERMISSIONS, type Permission, type Subject } from '../../src/access/policy.ts';
import { type FolderPath, parentOf, parseFolder } from '../../src/model/path.ts';

/** The grants of a client around a folder, and the resulting rights. */
export interface Situation {
  readonly name: string;
  readonly grants: readonly Grant[];
  /** The rights in the folder itself. */
  readonly rights: readonly Permission[];
  /** The rights in the folder and in everything below it. */
  readonly throughout: readonly Permission[];
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
  const grant = (place: FolderPath, rights: readonly Permission[] = PERMISSIONS): Grant => ({
    folder: place,
    to,
    permissions: rights,
  });
  const similar = [`${bare}x/`, `${bare} x/`, `${bare}./`, `${bare.slice(0, -1)}/`, `${bare.toUpperCase()}/`];

  const exactly = (...rights: readonly Permission[]): Situation => ({
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
    basic: [nothing('no grant', []), exactly('read'), exactly('write'), exactly('manage'), exactly(...PERMISSIONS)],
    usual: [
      nothing('everything in a neighbour folder', [grant(parseFolder(`${parent}next`))]),
      nothing(
        'everything in folders with similar names',
        similar.map((text) => grant(parseFolder(text))),
      ),
      { ...exactly(...PERMISSIONS), name: 'everything in the parent', grants: [grant(parent)] },
    ],
    rare: [
      exactly('read', 'write'),
      exactly('read', 'manage'),
      exactly('write', 'manage'),
      nothing('everything in the parent, without any right in the folder', [grant(parent), grant(folder, [])]),
      { ...nothing('everything in a subfolder', [grant(below)]), traversable: [below] },
      {
        ...exactly(...PERMISSIONS),
        name: 'everything, without any right in a subfolder',
        grants: [grant(folder), grant(below, [])],
        throughout: [],
        hidden: [below],
      },
      nothing('the grants of another user', [
        { folder, to: { kind: 'person', name: 'somebody-else' }, permissions: PERMISSIONS },
        { folder, to: { kind: 'group', name: 'others' }, permissions: PERMISSIONS },
      ]),
    ],
  };
}

/** A grant of all rights in a folder. */
export const allAt = (folder: FolderPath, to: Subject): Grant => ({ folder, to, permissions: PERMISSIONS });
