import type { Readable } from 'node:stream';
import { StoreError } from '../../model/error.ts';
import type { FilePath, FolderPath } from '../../model/path.ts';
import type { Space, Store } from '../../model/store.ts';
import { checkedBody } from '../../streams/bodies.ts';
import { EFFECTS, type Member, wrap } from './wrap.ts';

/** The default of `MIN_FREE_SPACE`: this share of the volume, and at most this many bytes. */
const DEFAULT_SHARE = 0.05;
const MAX_DEFAULT_BYTES = 1e9;

/** Seconds after which clients should send a refused write again. */
const RETRY_AFTER_SECONDS = 60;

/** Bytes that a write reserves before any have arrived, and after which it checks the space again. */
const STEP_BYTES = 16 * 2 ** 20;

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
 * full disk must be able to clean up. Members with a body are in `minFreeSpace`.
 */
const ADDITIONS: {
  readonly [Name in WritingMember]: ((...args: Parameters<NonNullable<Store[Name]>>) => Addition) | null;
} = {
  write: null,
  stage: null,
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
 * Bodies that are being received count with the bytes that they reserve (`Reservations`), and are aborted at that limit,
 * which other processes can reach meanwhile. The space of the returned store is without the bytes that must stay free.
 * Stores that don't know their space are returned unchanged.
 */
export function minFreeSpace(
  store: Store,
  setting: number | undefined,
  { stepBytes = STEP_BYTES }: { readonly stepBytes?: number } = {},
): Store {
  const { space, stage, openUpload } = store;
  if (!space || setting === 0) return store;
  const reservations = new Reservations(stepBytes);

  /** Returns the bytes that the volume of a path can still take; infinite if that is unknown. */
  const roomAt = async (path?: FilePath | FolderPath): Promise<Room> => {
    try {
      const found = await space.call(store, path === undefined ? {} : { path });
      return { bytes: found.available - minFreeBytes(found, setting), volume: found.volume ?? '' };
    } catch {
      // If the store is unavailable, the call itself reports the reason.
      return { bytes: Number.POSITIVE_INFINITY, volume: '' };
    }
  };
  const requireRoom = ({ bytes, volume }: Room, size = 0) => {
    const room = bytes - reservations.on(volume);
    if (room <= 0) throw almostFull();
    if (size > room) throw tooLarge(size);
  };
  /** Runs a call that reads a body of at most `size` bytes. */
  const receive = async <Result>(
    { path, size }: Addition,
    body: Readable,
    run: (body: Readable) => Promise<Result>,
  ): Promise<Result> => {
    const room = await roomAt(path);
    try {
      requireRoom(room, size);
    } catch (error) {
      body.destroy();
      throw error;
    }
    using reservation = reservations.begin(room.volume, size);
    if (size !== undefined && size <= stepBytes) return await run(body);
    const check = async () => {
      const { bytes, volume } = await roomAt(path);
      if (received.destroyed || bytes > reservations.on(volume, reservation)) return;
      // At once, so that the other writes continue.
      reservation[Symbol.dispose]();
      received.destroy(almostFull());
    };
    const received = checkedBody(body, {
      onChunk: (chunk) => void (reservation.receive(Buffer.byteLength(chunk)) && check()),
    });
    return await run(received);
  };

  const limited = wrap(store, {
    async call(member, run, args) {
      const additionOf = isWriting(member) ? ADDITIONS[member] : null;
      if (!additionOf) return run();
      const { path, size } = (additionOf as (...args: readonly unknown[]) => Addition)(...args);
      requireRoom(await roomAt(path), size);
      return run();
    },
    walk: (run) => run(),
  });
  return {
    ...limited,
    write(path, upload, options) {
      const size = upload.size ?? upload.maxSize;
      return receive({ path, size }, upload.body, (body) => store.write(path, { ...upload, body }, options));
    },
    ...(stage && {
      stage: (upload, options) =>
        receive({ size: upload.maxSize }, upload.body, (body) => stage.call(store, { ...upload, body }, options)),
    }),
    async space(options) {
      const found = await space.call(store, options);
      return { ...found, available: Math.max(0, found.available - minFreeBytes(found, setting)) };
    },
    ...(openUpload && {
      async openUpload(...args) {
        const upload = await openUpload.apply(store, args);
        // What has arrived can be committed and removed.
        return {
          offset: upload.offset,
          append: (content, options = {}) =>
            receive({ path: options.file, size: options.maxSize }, content, (body) => upload.append(body, options)),
          commit: (...commit) => upload.commit(...commit),
          remove: () => upload.remove(),
        };
      },
    }),
  };
}

/** The bytes that a volume can take. */
interface Room {
  readonly bytes: number;
  readonly volume: string;
}

/**
 * The bytes that running writes of this process have reserved and not written yet. A write reserves what it has sent already,
 * or `stepBytes` if that is more, and at most the rest of its size: a short request can't reserve the whole volume.
 */
class Reservations {
  readonly #stepBytes: number;
  readonly #all = new Set<Reservation>();

  constructor(stepBytes: number) {
    this.#stepBytes = stepBytes;
  }

  /** Returns the reserved bytes of a volume, without those of `except`. */
  on(volume: string, except?: Reservation): number {
    let bytes = 0;
    for (const each of this.#all) if (each.volume === volume && each !== except) bytes += each.bytes;
    return bytes;
  }

  /** Begins to count a write of at most `size` bytes. */
  begin(volume: string, size: number | undefined): Reservation {
    const reservation = new Reservation(volume, {
      size,
      stepBytes: this.#stepBytes,
      onEnd: (it) => this.#all.delete(it),
    });
    this.#all.add(reservation);
    return reservation;
  }
}

class Reservation implements Disposable {
  readonly volume: string;
  readonly #size: number;
  readonly #stepBytes: number;
  readonly #onEnd: (ended: Reservation) => void;
  #received = 0;

  constructor(
    volume: string,
    {
      size = Number.POSITIVE_INFINITY,
      stepBytes,
      onEnd,
    }: { readonly size: number | undefined; readonly stepBytes: number; readonly onEnd: (ended: Reservation) => void },
  ) {
    this.volume = volume;
    this.#size = size;
    this.#stepBytes = stepBytes;
    this.#onEnd = onEnd;
  }

  get bytes(): number {
    return Math.max(0, Math.min(this.#size - this.#received, Math.max(this.#stepBytes, this.#received)));
  }

  /** Counts bytes that arrived. Returns whether they end a step. */
  receive(bytes: number): boolean {
    const steps = Math.floor(this.#received / this.#stepBytes);
    this.#received += bytes;
    return Math.floor(this.#received / this.#stepBytes) > steps;
  }

  [Symbol.dispose](): void {
    this.#onEnd(this);
  }
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
