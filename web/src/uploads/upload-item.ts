import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { Rights } from '../access/rights.ts';
import type { ServiceError } from '../service/service-error.ts';
import type { Attempt } from './earlier-attempt.ts';
import type { ItemTurn } from './item-turn.ts';

/** `asking`: its name is taken, and a person has to say what becomes of it. */
export type UploadState = 'waiting' | 'asking' | 'sending' | 'done' | 'failed' | 'cancelled' | 'skipped';

/** A file to upload, or a folder to create. */
export interface UploadItem {
  readonly id: number;
  readonly kind: 'file' | 'folder';
  /** The name that it came with. */
  readonly name: string;
  /** The name that it is stored under: another one where both files were to be kept. */
  readonly storedName: ReadonlySignal<string>;
  readonly folder: string;
  /** Bytes. */
  readonly size: number;
  readonly sent: ReadonlySignal<number>;
  readonly state: ReadonlySignal<UploadState>;
  /** Why it failed; while it is being sent, why it has to be sent once more. */
  readonly problem: ReadonlySignal<ServiceError | null>;
}

/** Items that were added together. */
export interface Batch {
  /** What becomes of all of them whose names are taken; null while each is asked about. */
  decision: Decision | null;
}

export type Decision = 'replace' | 'keep-both' | 'skip';

/** An item as the queue has it in hand. */
export interface QueuedItem extends UploadItem {
  readonly storedName: Signal<string>;
  readonly sent: Signal<number>;
  readonly state: Signal<UploadState>;
  readonly problem: Signal<ServiceError | null>;
  /** Undefined for a folder. */
  readonly file: File | undefined;
  batch: Batch;
  /** Whether a person said that the file of this name may be replaced. */
  mayReplace: boolean;
  /** Whether a person said that it gets a name of its own, however many are taken. */
  mayRename: boolean;
  /** How many names the service has refused as taken. */
  refusedNames: number;
  /** Ends the sending of it, while that lasts. */
  sending: AbortController | undefined;
  /** Set while it may have been stored without a word of it. */
  unanswered: Attempt | undefined;
  /** Taken anew each time that it is to be sent; undefined for one that never was. */
  turn: ItemTurn | undefined;
}

let last = 0;

export function createItem(
  { folder, name, file }: { readonly folder: string; readonly name: string; readonly file?: File },
  batch: Batch,
): QueuedItem {
  return {
    id: ++last,
    kind: file ? 'file' : 'folder',
    name,
    storedName: signal(name),
    folder,
    size: file?.size ?? 0,
    sent: signal(0),
    state: signal<UploadState>('waiting'),
    problem: signal<ServiceError | null>(null),
    file,
    batch,
    mayReplace: false,
    mayRename: false,
    refusedNames: 0,
    sending: undefined,
    unanswered: undefined,
    turn: undefined,
  };
}

/** The path that an item is stored at; a folder's without its "/". */
export function pathOf({ folder, storedName }: UploadItem): string {
  return folder + storedName.value;
}

/** Whether there is still something to be done about an item. */
export function isUnfinished(state: UploadState): boolean {
  return state === 'waiting' || state === 'asking' || state === 'sending';
}

/** Whether sending an item again may end in another way: what is too large, or not allowed, stays so. */
export function canRetry({ state, problem, folder }: UploadItem, rights: Rights): boolean {
  if (state.value === 'failed') {
    const status = problem.value?.status;
    return status === 403 ? rights.mayIn(folder, 'write') : status !== 413;
  }
  return state.value === 'cancelled' || state.value === 'skipped';
}
