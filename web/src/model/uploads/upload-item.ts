import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { ServiceError } from '../../platform/service/service-error.ts';
import type { Permissions } from '../account/permissions.ts';

/** `conflict`: the name is taken, and the user must decide. */
export type UploadState = 'waiting' | 'conflict' | 'sending' | 'done' | 'failed' | 'cancelled' | 'skipped';

/** A file to upload, or a folder to create. */
export interface UploadItem {
  readonly id: number;
  readonly kind: 'file' | 'folder';
  /** The original name. */
  readonly name: string;
  /** The name under which the item is stored. Differs from `name` if the user keeps both files. */
  readonly storedName: ReadonlySignal<string>;
  readonly folder: string;
  /** Bytes. */
  readonly size: number;
  readonly sent: ReadonlySignal<number>;
  readonly state: ReadonlySignal<UploadState>;
  /** The reason of the failure; during an upload, the reason of the retry. */
  readonly problem: ReadonlySignal<ServiceError | null>;
}

/** A file that the user uploads, and its destination. */
export interface FileToUpload {
  readonly file: File;
  /** The destination folder, including the subfolders of a dropped folder. */
  readonly folder: string;
  readonly name: string;
}

/** A lock on the path of an item. Later operations on the path wait until the lock is released. */
export interface ItemLock {
  /** Resolves when the item can be sent: to false if an earlier operation failed to create or move its folder. */
  readonly acquired: Promise<boolean>;
  release(): void;
}

/** An upload attempt with an unknown outcome: its response was lost. */
export interface UncertainAttempt {
  /** The name that the attempt stores the file under. */
  readonly name: string;
  /** When the first attempt with this name began, in milliseconds since 1970. */
  readonly since: number;
}

/** An item with the internal state of the queue. */
export interface QueuedItem extends UploadItem {
  readonly storedName: Signal<string>;
  readonly sent: Signal<number>;
  readonly state: Signal<UploadState>;
  readonly problem: Signal<ServiceError | null>;
  /** Undefined for a folder. */
  readonly file: File | undefined;
  /** Identifies the items that were added together. A conflict decision "for all" applies to these. */
  batch: object;
  /** Whether the user allows replacing the existing file. */
  mayReplace: boolean;
  /** Whether the user keeps both files, so that the item gets a free name. */
  mayRename: boolean;
  /** The number of names that the service rejected as taken. */
  rejectedNames: number;
  /** Aborts the upload in progress. */
  sending: AbortController | undefined;
  /** An attempt whose response was lost, so that it might have stored the file. */
  uncertainAttempt: UncertainAttempt | undefined;
  /** The lock of the current attempt; undefined before the first. */
  lock: ItemLock | undefined;
}

let lastId = 0;

export function createItem(
  { folder, name, file }: { readonly folder: string; readonly name: string; readonly file?: File },
  batch: object,
): QueuedItem {
  return {
    id: ++lastId,
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
    rejectedNames: 0,
    sending: undefined,
    uncertainAttempt: undefined,
    lock: undefined,
  };
}

/** Returns the path of the stored item. The path of a folder ends with "/". */
export function pathOf({ kind, folder, storedName }: UploadItem): string {
  const path = folder + storedName.value;
  return kind === 'folder' ? `${path}/` : path;
}

/** Returns whether an item still needs work. */
export function isUnfinished(state: UploadState): boolean {
  return state === 'waiting' || state === 'conflict' || state === 'sending';
}

/** Returns whether a retry can succeed. Invalid, forbidden, too large and unsupported uploads fail again. */
export function canRetry({ state, problem, folder }: UploadItem, permissions: Permissions): boolean {
  if (state.value !== 'failed') return state.value === 'cancelled' || state.value === 'skipped';
  if (problem.value === null || isSolvable(problem.value)) return true;
  if (problem.value.isPermissionDenied) return permissions.allowsIn(folder, 'write');
  return problem.value.code !== 'link-not-found' && ![400, 403, 413, 501].includes(problem.value.status);
}

/** Returns whether an invalid upload can succeed: a truncated one, and one whose sender the visitor has not entered. */
function isSolvable({ code }: ServiceError): boolean {
  return code === 'incomplete-body' || code === 'sender-required';
}
