import type { Change } from '../model/change.ts';
import { quoted, StoreError } from '../model/error.ts';
import { newKeptId } from '../model/kept-ids.ts';
import { type FolderPath, foldersOf, isFolder, isWithin } from '../model/path.ts';
import { MAX_PAGE, type Store } from '../model/store.ts';
import type { JobContext } from './job.ts';

/** The members of a store that tell what a job acts on. */
export type TargetStore = Pick<Store, 'identify' | 'now' | 'state' | 'changeSince' | 'listTrash'>;

/** The members of the change log that tell what a job acts on. */
export interface TargetLog {
  newest(): Promise<{ readonly end: { readonly sequence: number } }>;
  readBack(
    start: number,
    scope: { readonly paths: readonly FolderPath[]; readonly contentOf: readonly FolderPath[] },
  ): AsyncIterable<Change>;
}

/**
 * The folders of a job as they were when it was created: their identities, the time by the clock of the store, or the state of
 * the store.
 */
interface FolderTarget {
  readonly source?: string | undefined;
  readonly destination?: string | undefined;
  readonly time?: number | undefined;
  readonly state?: string | undefined;
  /** The sequence number of the last change in the log. */
  readonly change?: number | undefined;
}

/** What an attempt may act on. */
export interface Scope {
  /** Whether the path has another item than when the job was created, or none, or the same item after a restore from the trash. */
  readonly isSourceGone: boolean;
  /** Whether the destination was created, replaced or removed after the job was created. */
  readonly isDestinationChanged: boolean;
  /** The identity of the source when the job was created. */
  readonly identity?: string | undefined;
  /** The time from which content belongs to later changes: see `Bounded`. */
  readonly before: Date | undefined;
}

/** Milliseconds by which the clocks of the servers of one store can differ, and times are rounded. */
const MAX_SKEW_MS = 60_000;

/** The items that jobs act on. A path can have another item when a job runs, or runs again. */
export class Targets {
  readonly #store: TargetStore;
  readonly #log: TargetLog | undefined;

  /** `log`: undefined if changes are not recorded. */
  constructor(store: TargetStore, log: TargetLog | undefined) {
    this.#store = store;
    this.#log = log;
  }

  /** Returns the target of a job that is created now. */
  async ofFolders(source: FolderPath, destination?: FolderPath): Promise<FolderTarget> {
    // The position comes first, so that the log has every change that the identities don't show.
    const change = this.#store.identify && (await this.#log?.newest())?.end.sequence;
    const [sourceIdentity, destinationIdentity, time, state] = await Promise.all([
      this.#store.identify?.(source),
      destination && this.#store.identify?.(destination),
      this.#store.now?.(),
      this.#store.state?.(),
    ]);
    return { source: sourceIdentity, destination: destinationIdentity, time: time?.getTime(), state, change };
  }

  /**
   * Returns what an attempt may act on. Throws `job-outdated` if nothing tells the items of the job from later ones, and an
   * earlier attempt can have ended its work.
   */
  async scopeOf(
    { source, destination }: { readonly source: FolderPath; readonly destination?: FolderPath },
    { target, isResumed, createdAt }: Pick<JobContext, 'target' | 'isResumed' | 'createdAt'>,
  ): Promise<Scope> {
    const { time, state, change, ...known }: FolderTarget = target ?? {};
    const scope = { isSourceGone: false, isDestinationChanged: false };
    if (time !== undefined && !this.#store.identify) {
      const isCertain = isResumed || (await this.#isLate(time));
      return { ...scope, before: new Date(isCertain ? time : time + MAX_SKEW_MS) };
    }
    const before = time !== undefined ? new Date(time) : isResumed ? createdAt : undefined;
    if (state !== undefined) {
      const changeOf = async (path: FolderPath | undefined) => path && this.#store.changeSince?.(state, path);
      return {
        isSourceGone: (await changeOf(source)) === 'replaced',
        isDestinationChanged: ((await changeOf(destination)) ?? 'none') !== 'none',
        before,
      };
    }
    if (known.source === undefined) {
      if (isResumed && (this.#store.identify || this.#store.now || this.#store.state)) throw jobOutdated(source);
      return { ...scope, before };
    }
    const identify = async (path: FolderPath | undefined) => path && this.#store.identify?.(path);
    const isReplaced = (await identify(source)) !== known.source;
    return {
      isSourceGone: isReplaced || (isResumed && (await this.#isRestored(source, change))),
      isDestinationChanged: (await identify(destination)) !== known.destination,
      identity: known.source,
      before,
    };
  }

  /**
   * Returns whether a folder was deleted and restored from the trash after a change, which its identity does not tell. Throws
   * `job-outdated` if it left its path and came back in another way, so that an earlier attempt can have ended its work.
   */
  async #isRestored(folder: FolderPath, change: number | undefined): Promise<boolean> {
    if (change === undefined || !this.#log) return false;
    let hasComeBack = false;
    const paths = foldersOf(folder);
    for await (const { type, path } of this.#log.readBack(change, { paths, contentOf: [] })) {
      if (type === 'folder.restored' && path === folder) return true;
      const isArrival = type === 'folder.restored' || type === 'folder.moved';
      hasComeBack ||= isArrival && isFolder(path) && isWithin(folder, path);
    }
    if (hasComeBack) throw jobOutdated(folder);
    return false;
  }

  /** Returns whether a first attempt starts so late that its job can have ended before its database was restored. */
  async #isLate(time: number): Promise<boolean> {
    const now = await this.#store.now?.();
    return now === undefined || now.getTime() > time + MAX_SKEW_MS;
  }

  /** Returns the items in the trash that a job may remove which is created now. */
  async ofTrash(folder: FolderPath): Promise<TrashTarget> {
    const until = newKeptId();
    // Items of a machine whose clock is ahead.
    const { items = [] } = (await this.#store.listTrash?.({ limit: MAX_PAGE })) ?? {};
    const newer = items.filter(({ id, path }) => id < until && isWithin(path, folder));
    return { until, also: newer.map(({ id }) => id) };
  }
}

/** The items that an empty trash had: those with an id from `until` on, because the newest sort first, and some others. */
interface TrashTarget {
  readonly until: string;
  readonly also: readonly string[];
}

/** Returns which items a job removes that empties the trash. Throws `job-outdated` if an earlier version created the job. */
export function itemsOf(
  folder: FolderPath,
  { target, isResumed }: Pick<JobContext, 'target' | 'isResumed'>,
): (id: string) => boolean {
  const { until, also = [] }: Partial<TrashTarget> = target ?? {};
  if (until === undefined && isResumed) throw jobOutdated(folder);
  return (id) => until === undefined || id >= until || also.includes(id);
}

/** Returns the error of a job that could act on other items than when it was created. */
export function jobOutdated(path: FolderPath, cause?: StoreError): StoreError {
  const message = `The job was interrupted, and ${quoted(path)} can have other content now. Check what it has done, and start it again if necessary.`;
  return new StoreError('job-outdated', message, { cause });
}
