import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { FileSource } from '../../platform/file-handles.ts';
import type { ServiceError } from '../../platform/service/service-error.ts';
import type { Permissions } from '../account/permissions.ts';

/** `conflict`: the name is taken, and the user must decide. `interrupted`: the page that sent it was closed or reloaded. */
export type UploadState =
  | 'waiting'
  | 'conflict'
  | 'sending'
  | 'done'
  | 'failed'
  | 'cancelled'
  | 'skipped'
  | 'interrupted';

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
  /** When the file changed, in milliseconds since 1970. */
  readonly modified: number;
  /** Where the file can be read again after a reload; undefined if the browser can't. */
  readonly source: FileSource | undefined;
  /** The bytes that were sent; for an interrupted upload, those that the service has. */
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
  /** Where the file can be read again after a reload; undefined if the browser can't. */
  readonly source?: FileSource | undefined;
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
  /** Undefined for a folder, for a file that is still to be read from `source`, and at the end. */
  file: File | undefined;
  source: FileSource | undefined;
  /** Identifies the items that were added together. A conflict decision "for all" applies to these. */
  batch: object;
  /** Whether the user allows replacing the existing file. */
  mayReplace: boolean;
  /** Whether to delete the earlier versions of the file after the upload. */
  deletesVersions: boolean;
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

/** Creates an item for a file, or for a folder. */
export function createItem(
  { folder, name, file, source }: Omit<FileToUpload, 'file'> & { readonly file?: File },
  batch: object,
): QueuedItem {
  return {
    id: ++lastId,
    kind: file ? 'file' : 'folder',
    name,
    storedName: signal(name),
    folder,
    size: file?.size ?? 0,
    modified: file?.lastModified ?? Number.NaN,
    sent: signal(0),
    state: signal<UploadState>('waiting'),
    problem: signal<ServiceError | null>(null),
    file,
    source,
    batch,
    mayReplace: false,
    deletesVersions: false,
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

/** Returns whether an item is interrupted, and its file can be read again. */
export function canResume({ state, source }: UploadItem): boolean {
  return state.value === 'interrupted' && source !== undefined;
}

/** Returns whether an item is interrupted, and the user must choose its file again. */
export function needsFile({ state, source }: UploadItem): boolean {
  return state.value === 'interrupted' && source === undefined;
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
