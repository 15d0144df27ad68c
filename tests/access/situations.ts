import type { Grant, Subject } from '../../src/access/policy.ts';
import { RIGHTS, type Right } from '../../src/access/rights.ts';
import { type FolderPath, parentOf, parseFolder } from '../../src/domain/path.ts';

/** What somebody was granted around a folder, and what they may do there by it. */
export interface Situation {
  readonly name: string;
  readonly grants: readonly Grant[];
  /** In the folder itself. */
  readonly rights: readonly Right[];
  /** In the folder and everything that can be in it. */
  readonly throughout: readonly Right[];
  /** The children of the folder that are closed to them though they may read it. */
  readonly hidden: readonly FolderPath[];
  /** The children that show where they may not read it; undefined where not even that can be asked. */
  readonly ways: readonly FolderPath[] | undefined;
}

/** The situations of somebody towards a folder that has a folder `sub/`: those of every table, and finer ones. */
export function situationsAt(
  folder: FolderPath,
  to: Subject,
): { readonly usual: readonly Situation[]; readonly rare: readonly Situation[] } {
  const parent = parentOf(folder);
  const below = parseFolder(`${folder}sub`);
  const bare = folder.slice(0, -1);
  const grant = (place: FolderPath, rights: readonly Right[] = RIGHTS): Grant => ({ folder: place, to, rights });
  const alike = [`${bare}x/`, `${bare} x/`, `${bare}./`, `${bare.slice(0, -1)}/`, `${bare.toUpperCase()}/`];

  const exactly = (...rights: readonly Right[]): Situation => ({
    name: rights.join(' and '),
    grants: [grant(folder, rights)],
    rights,
    throughout: rights,
    hidden: [],
    ways: [],
  });
  const nothing = (name: string, grants: readonly Grant[]): Situation => ({
    name,
    grants,
    rights: [],
    throughout: [],
    hidden: [],
    ways: undefined,
  });

  return {
    usual: [
      nothing('no grant', []),
      exactly('read'),
      exactly('write'),
      exactly('manage'),
      exactly(...RIGHTS),
      nothing('everything in a neighbour folder', [grant(parseFolder(`${parent}next`))]),
      nothing(
        'everything in folders whose names begin alike',
        alike.map((text) => grant(parseFolder(text))),
      ),
      { ...exactly(...RIGHTS), name: 'everything in the parent', grants: [grant(parent)] },
    ],
    rare: [
      exactly('read', 'write'),
      exactly('read', 'manage'),
      exactly('write', 'manage'),
      nothing('everything in the parent, with the folder closed', [grant(parent), grant(folder, [])]),
      { ...nothing('everything in a folder below', [grant(below)]), ways: [below] },
      {
        ...exactly(...RIGHTS),
        name: 'everything, with a folder below closed',
        grants: [grant(folder), grant(below, [])],
        throughout: [],
        hidden: [below],
      },
      nothing("somebody else's grant", [
        { folder, to: { kind: 'person', name: 'somebody-else' }, rights: RIGHTS },
        { folder, to: { kind: 'group', name: 'others' }, rights: RIGHTS },
      ]),
    ],
  };
}

/** A grant of everything in a folder. */
export const allAt = (folder: FolderPath, to: Subject): Grant => ({ folder, to, rights: RIGHTS });
