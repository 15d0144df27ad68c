import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type FilePath, type FolderPath, parentOf } from '../../model/path.ts';
import { DEFAULT_ACL, removeAttribute } from './extended-attributes.ts';
import type { Folder } from './folder.ts';
import { mountPointsIn, volumeOf } from './mount-points.ts';
import { newStagingName } from './reserved-names.ts';
import type { Root } from './root.ts';
import { removeItem, type Temporary } from './temporary.ts';

/** A path for new content, at which nothing exists yet. Disposing of it removes its content. */
export interface StagingPlace extends AsyncDisposable {
  readonly path: string;
  /** Whether it is on another file system than Holdall's own folder. */
  readonly isElsewhere: boolean;
}

/**
 * Chooses where new content waits until it is renamed to its path: on the same file system, because it can't be renamed
 * to another one. For most paths, that is Holdall's own folder.
 */
export class Staging {
  readonly #root: Root;
  readonly #temporary: Temporary;

  constructor(root: Root, temporary: Temporary) {
    this.#root = root;
    this.#temporary = temporary;
  }

  /** Returns a place for what will be renamed to `path`. */
  async placeFor(path: FilePath | FolderPath): Promise<StagingPlace> {
    const elsewhere = await this.placeElsewhere(path);
    if (elsewhere) return elsewhere;
    const own = await this.#temporary.name();
    // What can't be removed is removed by a later sweep.
    return { path: own, isElsewhere: false, [Symbol.asyncDispose]: () => removeItem(own).catch(() => {}) };
  }

  /** Returns a place for what will be renamed to `path`, if that is on another file system than Holdall's own folder. */
  async placeElsewhere(path: FilePath | FolderPath): Promise<StagingPlace | undefined> {
    // To the system, bind mounts of one file system are several.
    if ((await this.#mountAbove(path)) === undefined) return undefined;
    const parent = await this.#root.openNearestParent(path);
    try {
      const place = await this.placeIn(parent);
      return {
        ...place,
        [Symbol.asyncDispose]: async () => {
          await place[Symbol.asyncDispose]();
          await parent[Symbol.asyncDispose]();
        },
      };
    } catch (error) {
      await parent[Symbol.asyncDispose]();
      throw error;
    }
  }

  /**
   * Returns the absolute path for the content of an upload that outlives this process and will be renamed to `path`, if that
   * is on another file system than Holdall's own folder. `makeHidden` creates its folder.
   */
  async lastingPathFor(path: FilePath | FolderPath): Promise<string | undefined> {
    const mount = await this.#mountAbove(path);
    // At the mount point, which can't be renamed.
    return mount && join(mount, newStagingName(), CONTENT);
  }

  /**
   * Returns a place in an open folder, which must stay open: in a hidden folder, which other users of the machine can't
   * read, and which gives its files neither a group nor an ACL.
   */
  async placeIn(folder: Folder): Promise<StagingPlace> {
    const name = newStagingName();
    const note = await this.#temporary.noteHidden(join(folder.absolute, name));
    const hidden = folder.at(name);
    // The note of what can't be removed remains.
    const remove = () =>
      removeItem(hidden).then(
        () => note[Symbol.asyncDispose](),
        () => {},
      );
    try {
      await makeHidden(hidden);
    } catch (error) {
      await remove();
      throw error;
    }
    return { path: `${hidden}/${CONTENT}`, isElsewhere: true, [Symbol.asyncDispose]: remove };
  }

  /** Returns the mount point that contains `path`; undefined if that is on the file system of the root. */
  async #mountAbove(path: FilePath | FolderPath): Promise<string | undefined> {
    const { path: root } = this.#root;
    const volume = volumeOf(this.#root.absolute(parentOf(path)), await mountPointsIn(root), root);
    return volume === root ? undefined : volume;
  }
}

/** The name of new content in a hidden folder. */
const CONTENT = 'content';

/** Creates a hidden folder. Its files get neither its group nor an ACL from it. */
export async function makeHidden(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  // Removes the setgid bit.
  await chmod(path, 0o700);
  await removeAttribute(path, DEFAULT_ACL);
}
