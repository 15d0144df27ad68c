import { signal as createSignal } from '@preact/signals';
import { freeName } from '../../platform/free-name.ts';
import { isFolderPath, nameOf, parentOf } from '../../platform/paths.ts';
import type { ChangeService } from '../../platform/service/file-operations.ts';
import type { OperationOptions } from '../../platform/service/jobs.ts';
import { entriesIn } from '../../platform/service/pages.ts';
import type { Changed, Entry } from '../../platform/service/service.ts';
import { asServiceError, isAbort } from '../../platform/service/service-error.ts';
import { findStoredFile } from '../lost-responses.ts';
import { type ConflictDecision, ConflictQueue, isReplacement, type TakenNames } from '../name-conflicts.ts';
import type { ItemKind } from '../prompts.ts';
import type { ChangeContext } from './change-context.ts';
import { deleteEarlierVersions } from './delete-versions.ts';
import type { Item, ItemContext } from './operations.ts';

export type TransferKind = 'copy' | 'move';

/** A file or folder to copy or move. */
export interface TransferItem extends Item {
  readonly destination: string;
  /** The entry to show at the destination at once; undefined if unknown. */
  readonly entry: Entry | undefined;
}

/** The result of a copy or move. */
export interface Transferred extends Changed {
  /** The path at the destination. Differs from the requested one if the user keeps both items. */
  readonly path: string;
  readonly hasReplaced: boolean;
  /** Whether the user chose to delete the earlier versions, so that the change can't be undone. */
  readonly deletesVersions: boolean;
}

/** Copies or moves one item. Resolves to null if the user skips the item. */
export type TransferRequest = (item: TransferItem, context: ItemContext) => Promise<Transferred | null>;

interface TransferOptions extends OperationOptions {
  readonly destination: string;
  readonly overwrite: boolean;
  readonly deletesVersions: boolean;
}

/** The maximum time of a request that checks whether a file exists. */
const CHECK_TIMEOUT_MS = 60_000;

/** Sends copies and moves. After a lost response, finds out whether the service completed the request. */
export class RetryableTransfers {
  readonly #service: Pick<ChangeService, 'transfer' | 'list' | 'check'>;
  readonly #folderExists: ChangeContext['folderExists'];
  /** The last attempt of each item, if its outcome is unknown, and when it began. */
  readonly #lostAttempts = new WeakMap<TransferItem, Transferred & { readonly since: number }>();

  constructor({ service, folderExists }: Pick<ChangeContext, 'service' | 'folderExists'>) {
    this.#service = service;
    this.#folderExists = folderExists;
  }

  /** Throws `ServiceError`, or the `AbortError` of the signal unless the service has already moved the item. */
  async transfer(
    kind: TransferKind,
    item: TransferItem,
    { destination, overwrite, deletesVersions, ...options }: TransferOptions,
  ): Promise<Transferred> {
    const transferred = { path: destination, hasReplaced: overwrite, deletesVersions };
    const since = Date.now();
    try {
      const { change } = await this.#service.transfer(kind, item.path, destination, { overwrite, ...options });
      return { ...transferred, change };
    } catch (error) {
      if (isAbort(error)) {
        if (kind === 'move' && (await this.isGone(item.path))) return transferred;
      } else if (asServiceError(error).isOutcomeUnknown) {
        this.#lostAttempts.set(item, { ...transferred, since });
      }
      throw error;
    }
  }

  /** Returns the result of an earlier attempt that the service completed, although its response was lost. */
  async findCompletedAttempt(kind: TransferKind, item: TransferItem): Promise<Transferred | undefined> {
    const attempt = this.#lostAttempts.get(item);
    if (!attempt) return undefined;
    const { since, ...transferred } = attempt;
    // If the check fails, the next attempt fails too, or asks the user about the conflict.
    const isCompleted = await this.#isCompleted(kind, item, attempt.path, since).catch(() => false);
    return isCompleted ? transferred : undefined;
  }

  async #isCompleted(kind: TransferKind, { path, entry }: TransferItem, destination: string, since: number) {
    // A complete copy of a folder can't be distinguished from a partial one, so the user decides about it.
    if (isFolderPath(path)) {
      return kind === 'move' && (await this.isGone(path)) && (await this.#folderExists(destination));
    }
    if (entry?.type !== 'file') return false;
    const expected = { path: destination, size: entry.size, ...(kind === 'copy' && { since }) };
    const found = await findStoredFile(this.#service, expected);
    return found !== undefined && (kind === 'copy' || (await this.isGone(path)));
  }

  /** Returns whether the path no longer exists. Assumes that it exists if the service can't tell. */
  async isGone(path: string): Promise<boolean> {
    if (isFolderPath(path)) return !(await this.#folderExists(path));
    try {
      await this.#service.check(path, AbortSignal.timeout(CHECK_TIMEOUT_MS));
      return false;
    } catch (error) {
      return asServiceError(error).isNotFound;
    }
  }
}

interface AskOptions {
  readonly transfers: RetryableTransfers;
  /** All items that the user copies or moves together. */
  readonly items: readonly TransferItem[];
  readonly names: TakenNames;
}

/** The maximum number of free names to try for one item, because the service might reject every name. */
const MAX_FREE_NAMES = 100;

/** Returns requests that ask the user if the name is taken. */
export function askOnConflict(
  context: ChangeContext,
  kind: TransferKind,
  { transfers, items, names }: AskOptions,
): TransferRequest {
  const conflicts = trackConflicts(context.service, items);
  const decide = createDecider(context, items, conflicts);
  const finish = async (transferred: Transferred) => {
    if (transferred.deletesVersions) await deleteEarlierVersions(context, transferred.path);
    return transferred;
  };

  const request: TransferRequest = async (item, { stop, markUnchanged, ...options }) => {
    const completed = await transfers.findCompletedAttempt(kind, item);
    if (completed) return finish(completed);
    let { destination } = item;
    let overwrite = false;
    let keepsBoth = false;
    let deletesVersions = false;
    for (let freeNames = 0; ; freeNames++) {
      try {
        const attempt = { destination, overwrite, deletesVersions, ...options };
        return await finish(await transfers.transfer(kind, item, attempt));
      } catch (error) {
        if (overwrite || freeNames === MAX_FREE_NAMES || !(await isConflict(context, error, destination))) throw error;
      }
      names.take(destination);
      if (!keepsBoth) {
        const decision = await decide(item);
        if (decision === 'cancel') stop();
        if (decision === 'cancel' || decision === 'skip') {
          markUnchanged([item.path, item.destination]);
          return null;
        }
        overwrite = isReplacement(decision);
        deletesVersions = decision === 'replace-with-versions';
        keepsBoth = decision === 'keep-both';
      }
      if (keepsBoth) {
        // The destination keeps its own entry instead of the one that the page showed.
        markUnchanged([item.destination]);
        await names.learn(parentOf(destination));
        destination = freeDestination(destination, names);
      }
    }
  };
  return (item, itemContext) => request(item, itemContext).finally(() => conflicts.remove(item));
}

/** Returns whether an error means that an existing item can be replaced or kept. */
async function isConflict({ folderExists }: ChangeContext, error: unknown, destination: string): Promise<boolean> {
  const problem = asServiceError(error);
  if (!problem.is(['already-exists', 'wrong-kind'], 409)) return false;
  // If a parent of the destination is a file, no name is free.
  return problem.code !== 'wrong-kind' || folderExists(parentOf(destination));
}

/** Returns a function that asks the user about the conflict of an item. */
function createDecider(
  { prompts, permissions, folder, folderExists }: ChangeContext,
  batch: readonly TransferItem[],
  conflicts: ReturnType<typeof trackConflicts>,
): (item: TransferItem) => Promise<ConflictDecision> {
  const queue = new ConflictQueue();
  const kindAt = async (destination: string): Promise<ItemKind> => {
    const path = withoutSlash(destination);
    const known = folder.entryOf(path) ?? folder.entryOf(`${path}/`);
    if (known) return known.type;
    return (await folderExists(`${path}/`)) ? 'folder' : 'file';
  };

  return async (item) => {
    const { destination, entry } = item;
    const parent = parentOf(destination);
    conflicts.add(item);
    const decision = await queue.decide({
      batch,
      findKinds: async () => ({
        incoming: isFolderPath(destination) ? 'folder' : 'file',
        existing: await kindAt(destination),
      }),
      ask: (kinds) =>
        prompts.resolveConflict({
          name: nameOf(destination),
          folder: parent,
          others: () => conflicts.countOthers(item),
          kinds,
          incoming: entry,
          mayReplace: permissions.allowsIn(parent, 'manage'),
        }),
    });
    conflicts.remove(item);
    return decision;
  };
}

/** Tracks which items conflict. After the first conflict in a folder, lists the folder to find the others in advance. */
function trackConflicts(service: ChangeContext['service'], items: readonly TransferItem[]) {
  const open = new Set(items);
  const listed = new Set<string>();
  const conflicting = createSignal<ReadonlySet<TransferItem>>(new Set());

  const list = async (folder: string) => {
    const taken = new Set<string>();
    for await (const { path } of entriesIn(service, folder)) taken.add(withoutSlash(path));
    const more = [...open].filter(({ destination }) => taken.has(withoutSlash(destination)));
    conflicting.value = new Set([...conflicting.value, ...more]);
  };
  return {
    add(item: TransferItem) {
      conflicting.value = new Set([...conflicting.value, item]);
      const folder = parentOf(item.destination);
      if (listed.has(folder)) return;
      listed.add(folder);
      // If the listing fails, each item detects its own conflict when it is sent.
      list(folder).catch(() => {});
    },
    remove(item: TransferItem) {
      open.delete(item);
      if (!conflicting.value.has(item)) return;
      conflicting.value = new Set([...conflicting.value].filter((other) => other !== item));
    },
    /** Returns the number of other conflicting items. Reads a signal. */
    countOthers: (item: TransferItem) => [...conflicting.value].filter((other) => other !== item).length,
  };
}

/** Returns the path of the first free name similar to that of `path`, and reserves it. */
export function freeDestination(path: string, names: TakenNames): string {
  const folder = parentOf(path);
  const isFolder = isFolderPath(path);
  const name = freeName(nameOf(path), (tried) => names.isTaken(folder, tried), isFolder);
  const free = `${folder}${name}${isFolder ? '/' : ''}`;
  names.take(free);
  return free;
}

const withoutSlash = (path: string) => path.replace(/\/$/, '');
