import { quoted, StoreError } from '../model/error.ts';
import type { KeptId } from '../model/kept-ids.ts';
import type { FilePath } from '../model/path.ts';
import {
  type Cancellable,
  type Content,
  type FileEntry,
  MAX_PAGE,
  type Store,
  type VersionListing,
  type VersionStore,
  type WriteCondition,
} from '../model/store.ts';
import type { ByUser, Retention } from './retention.ts';

/** The operations on earlier contents of files. Each one throws `unsupported` if the store keeps none. */
export interface VersionOperations {
  /** Lists the versions of a path, the most recently replaced first. */
  listVersions(
    file: FilePath,
    options?: { readonly cursor?: string | undefined; readonly limit?: number | undefined } & Cancellable,
  ): Promise<VersionListing>;
  /** Returns the metadata of a version. Throws `not-found`. */
  statVersion(file: FilePath, id: KeptId, options?: Cancellable): Promise<FileEntry>;
  /** Opens a version of any size. */
  readVersion(file: FilePath, id: KeptId, options?: Parameters<VersionStore['readVersion']>[2]): Promise<Content>;
  /** Makes a version the current content again. The content that it replaces becomes a version. */
  restoreVersion(file: FilePath, id: KeptId, options?: RestoreVersionOptions): Promise<FileEntry>;
  /** Permanently removes all versions of a file. Throws `unsupported` if the store can't. */
  deleteVersions(file: FilePath, options?: Cancellable): Promise<void>;
}

export type RestoreVersionOptions = ByUser & {
  readonly condition?: WriteCondition | undefined;
} & Cancellable;

export function createVersionOperations(store: Store, retention: Retention): VersionOperations {
  const versions = store.listVersions ? (store as Store & VersionStore) : undefined;
  return {
    listVersions: async (file, { cursor, limit = MAX_PAGE, signal } = {}) =>
      requireVersions(versions, file).listVersions(file, { cursor, limit, signal }),

    async statVersion(file, id, options = {}) {
      // No version is that small, except an empty one, so this reads only the metadata.
      const content = await requireVersions(versions, file).readVersion(file, id, { ...options, maxSize: 0 });
      content.body.destroy();
      return content.file;
    },

    readVersion: async (file, id, options) => requireVersions(versions, file).readVersion(file, id, options),

    async restoreVersion(file, id, { user, onKept, condition, ...options } = {}) {
      const keep = retention.keepFile({ user, onKept, replace: condition !== 'absent' });
      return requireVersions(versions, file).restoreVersion(file, id, { ...options, condition, keep });
    },

    async deleteVersions(file, options) {
      const { purgeVersions } = requireVersions(versions, file);
      if (!purgeVersions) {
        throw new StoreError('unsupported', `The store can't delete versions of the file ${quoted(file)}.`);
      }
      await store.purgeVersions?.(file, options);
    },
  };
}

function requireVersions(versions: VersionStore | undefined, file: FilePath): VersionStore {
  if (versions) return versions;
  throw new StoreError('unsupported', `The store keeps no versions of the file ${quoted(file)}.`);
}
