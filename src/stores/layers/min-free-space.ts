import type { Readable } from 'node:stream';
import { StoreError } from '../../model/error.ts';
import type { FilePath, FolderPath } from '../../model/path.ts';
import type { PendingUpload, Space, Store } from '../../model/store.ts';
import { bodyIn, EFFECTS, type Member, wrap } from './wrap.ts';

/** The default of `MIN_FREE_SPACE`: this share of the volume, and at most this many bytes. */
const DEFAULT_SHARE = 0.05;
const MAX_DEFAULT_BYTES = 1e9;

/** Seconds after which clients should send a refused write again. */
const RETRY_AFTER_SECONDS = 60;

/** Milliseconds between two checks while a body arrives. */
const CHECK_INTERVAL_MS = 1000;

/** Returns how many bytes of a volume must stay free. `setting`: `MIN_FREE_SPACE`. */
export function minFreeBytes({ available, used }: Space, setting: number | undefined): number {
  return setting ?? Math.min(MAX_DEFAULT_BYTES, Math.floor((available + used) * DEFAULT_SHARE));
}

/** What a call adds to the store. */
interface Addition {
  readonly path?: FilePath | FolderPath;
  /** Maximum size in bytes, if known. */
  readonly size?: number | undefined;
}

type WritingMember = { [Name in Member]: (typeof EFFECTS)[Name] extends 'writes' ? Name : never }[Member];

/**
 * What each member adds. Null for members that free space, that move or rename, and that need only a record: a user with a
 * full disk must be able to clean up. `openUpload` is checked for each body.
 */
const ADDITIONS: {
  readonly [Name in WritingMember]: ((...args: Parameters<NonNullable<Store[Name]>>) => Addition) | null;
} = {
  write: (path, { size, maxSize }) => ({ path, size: size ?? maxSize }),
  stage: ({ maxSize }) => ({ size: maxSize }),
  createUpload: (_, { file, size }) => ({ path: file, size }),
  openUpload: null,
  presignParts: () => ({}),
  createFolder: (path) => ({ path }),
  // A file system with reflinks copies without additional space, so the size does not count.
  copy: (_, path) => ({ path }),
  copyFolder: (_, path) => ({ path }),
  restoreVersion: (path) => ({ path }),
  removeUploads: null,
  remove: null,
  removeFolder: null,
  setModified: null,
  move: null,
  moveFolder: null,
  removeTree: null,
  moveToTrash: null,
  restoreTrashed: null,
  purgeTrashed: null,
  purgeVersions: null,
  expireVersions: null,
};

/**
 * Returns the store, which refuses with `store-full` what would leave less free space on its volume than `MIN_FREE_SPACE`.
 * Bodies whose size is unknown are aborted when they reach that limit. The space of the returned store is without the
 * bytes that must stay free. Stores that don't know their space are returned unchanged.
 */
export function minFreeSpace(
  store: Store,
  setting: number | undefined,
  { checkIntervalMs = CHECK_INTERVAL_MS }: { readonly checkIntervalMs?: number } = {},
): Store {
  const { space, openUpload } = store;
  if (!space || setting === 0) return store;

  /** Returns the bytes that the volume of a path can still take; infinite if that is unknown. */
  const roomAt = async (path?: FilePath | FolderPath): Promise<number> => {
    try {
      const found = await space.call(store, path === undefined ? {} : { path });
      return found.available - minFreeBytes(found, setting);
    } catch {
      // If the store is unavailable, the call itself reports the reason.
      return Number.POSITIVE_INFINITY;
    }
  };
  const requireRoom = async ({ path, size = 0 }: Addition, body?: Readable) => {
    const room = await roomAt(path);
    if (room > 0 && size <= room) return;
    body?.destroy();
    throw room > 0 ? tooLarge(size) : almostFull();
  };
  const whileRoom = async <Result>(body: Readable, run: () => Promise<Result>, path?: FilePath | FolderPath) => {
    const timer = setInterval(
      () => void roomAt(path).then((room) => room > 0 || body.destroyed || body.destroy(almostFull())),
      checkIntervalMs,
    ).unref();
    try {
      return await run();
    } finally {
      clearInterval(timer);
    }
  };

  const add = async <Result>(addition: Addition, run: () => Promise<Result>, body?: Readable): Promise<Result> => {
    await requireRoom(addition, body);
    return body ? whileRoom(body, run, addition.path) : run();
  };

  const limited = wrap(store, {
    call(member, run, args) {
      const additionOf = isWriting(member) ? ADDITIONS[member] : null;
      if (!additionOf) return run();
      return add((additionOf as (...args: readonly unknown[]) => Addition)(...args), run, bodyIn(args));
    },
    walk: (run) => run(),
  });
  return {
    ...limited,
    async space(options) {
      const found = await space.call(store, options);
      return { ...found, available: Math.max(0, found.available - minFreeBytes(found, setting)) };
    },
    ...(openUpload && {
      async openUpload(...args) {
        const upload = await openUpload.apply(store, args);
        return limitedUpload(upload, (body, run) => add({}, run, body));
      },
    }),
  };
}

/** Returns an upload whose bodies are limited. What has arrived can be committed. */
function limitedUpload(
  upload: PendingUpload,
  limit: (body: Readable, run: () => Promise<number>) => Promise<number>,
): PendingUpload {
  return {
    offset: upload.offset,
    append: (body, options) => limit(body, () => upload.append(body, options)),
    commit: (...args) => upload.commit(...args),
    remove: () => upload.remove(),
  };
}

const isWriting = (member: Member): member is WritingMember => EFFECTS[member] === 'writes';

const almostFull = () =>
  new StoreError('store-full', 'The disk is almost full, so it takes no new content. Delete files permanently first.', {
    retryAfter: RETRY_AFTER_SECONDS,
  });

const tooLarge = (size: number) =>
  new StoreError('store-full', `The disk has no space for ${size} bytes. Delete files permanently first.`, {
    retryAfter: RETRY_AFTER_SECONDS,
  });
