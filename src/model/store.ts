import type { Readable } from 'node:stream';
import type { FilePath, FolderPath } from './path.ts';
import type { ByteRange, ResolvedRange } from './range.ts';

/**
 * What is known of a file. A store gives the same entry from `list`, `stat`, `read` and `write`, but for what its
 * backend does not tell everywhere: `list` may give the type that the name tells, `write` no time.
 */
export interface FileEntry {
  readonly kind: 'file';
  readonly path: FilePath;
  /** Bytes. */
  readonly size: number;
  /**
   * A strong validator without its quotes: it changes whenever the bytes do. Two files of one store that have
   * the same size and etag hold the same bytes.
   */
  readonly etag: string;
  /** When the file was last modified: written, or as its uploader said (`Upload.modified`). Null if the store does not know. */
  readonly modified: Date | null;
  /**
   * When this version came to its path, if that is another time than `modified`: the uploader set that, or a copy or move
   * kept it. It proves what `modified` then can't: that nothing has changed since some date. `write` may give an earlier one.
   */
  readonly changed?: Date;
  /** A media type, parameters included. */
  readonly type: string;
  /** Where everybody may read the file, if the store is public. */
  readonly publicUrl?: string;
}

export interface FolderEntry {
  readonly kind: 'folder';
  readonly path: FolderPath;
}

export type Entry = FileEntry | FolderEntry;

export interface Listing {
  readonly entries: readonly Entry[];
  /** Where the next page begins; absent on the last one. Opaque to everyone but the store. */
  readonly cursor?: string;
}

/** A file that was opened: its bytes are those of `range`, or of the whole file when there is none. */
export interface Content {
  readonly file: FileEntry;
  readonly range?: ResolvedRange;
  /**
   * The bytes, where they were at hand in one piece, as those of a small file may be. Whoever takes them leaves `body`
   * alone; a stream of one piece costs more than to read the piece.
   */
  readonly bytes?: Buffer;
  /** Gives the bytes. Whoever gets it reads it to the end or destroys it; beside `bytes`, it may be left alone. */
  readonly body: Readable;
  /** Takes back a piece of `body`. */
  readonly release?: Release;
}

/**
 * Takes back a piece that was read of a stream, once, from whoever is done with its bytes and never looks at them again: its
 * memory is freed, or used anew. Nobody has to release anything; but what is left to be found as garbage costs more.
 */
export type Release = (piece: Buffer) => void;

/** Bytes on their way in. */
export interface Upload {
  /** Ends when all bytes were given; an error on it fails the write and leaves the old file. */
  readonly body: Readable;
  /** Takes back a piece of `body` that was stored. */
  readonly release?: Release | undefined;
  /** Bytes, where known beforehand. A body of another size fails the write with `invalid-request`. */
  readonly size?: number | undefined;
  /** Bytes that the body may have at the most, where that is known: such as the length of the request around it. */
  readonly sizeAtMost?: number | undefined;
  /** The media type to keep. A store that can't keep one derives it from the name. */
  readonly type: string;
  /**
   * Returns the modification time to keep, if any. Call it after the end of `body`: a form may say it behind its file. Only
   * some stores keep times, and some only in a range; `modified` of the entry that `write` returns is the time that was kept.
   */
  readonly modified?: (() => Date | undefined) | undefined;
}

/** `absent`: write only where no file is. An etag: only over the file that has it. */
export type WriteCondition = 'absent' | { readonly etag: string };

/** How far a long operation is: files done, files in all (null while unknown), bytes done. */
export interface Progress {
  readonly done: number;
  readonly total: number | null;
  readonly bytes: number;
}

export interface Cancellable {
  /** Ends the work; what was begun is undone where the operation says so. */
  readonly signal?: AbortSignal;
}

export interface Reporting {
  /** Called as the work goes on, never after it ended. */
  readonly onProgress?: (progress: Progress) => void;
}

export interface Replacing {
  /** Whether what is at the destination may be replaced. Without it, its presence is `already-exists`. */
  readonly replace: boolean;
}

/** How many requests a backend takes of us in a span of time, as it told last. */
export interface Quota {
  readonly limit: number;
  readonly remaining: number;
  /** When `remaining` is `limit` again. */
  readonly reset: Date;
}

/** Bytes that were taken in before their destination was known. Ends with one of the two calls, whichever is first. */
export interface StagedUpload {
  /** As `write`, with the bytes that wait here. */
  publish(
    file: FilePath,
    upload: Pick<Upload, 'type' | 'modified'>,
    options?: { condition?: WriteCondition },
  ): Promise<FileEntry>;
  /** Forgets the bytes. Does nothing after `publish`. */
  discard(): Promise<void>;
}

/**
 * A backend. The members without a question mark are what every backend has; the others are there only where a
 * backend does better than what `Files` composes from those. That a member is there says that it works: there
 * are no flags beside it.
 *
 * Paths are valid before they come here (`path.ts`). A store refuses only what it can't hold itself, such as a
 * segment that is too long for its file system, with `invalid-path`.
 *
 * Every error on purpose is a `StoreError`; the kinds that a member names are those that callers act on. Any
 * member may besides throw `denied` and `unavailable`. Whatever else is thrown is a fault of ours.
 */
export interface Store {
  /**
   * The children of `folder`, files and folders, in the order of `comparePaths`, at most `limit` of them (a
   * page may be shorter while there is more). Markers and keys that no path can name are left out.
   * `not-found` for a missing folder; the root always exists. `invalid-request` for a cursor that is none.
   */
  list(folder: FolderPath, options?: { cursor?: string; limit?: number } & Cancellable): Promise<Listing>;

  /** What is known of a file. `not-found` when there is none, also where a folder has the name. */
  stat(file: FilePath, options?: Cancellable): Promise<FileEntry>;

  /**
   * Opens a file. Settles once the source is open, so that what is missing is known before any byte goes out.
   * The bytes are those of one version, the one that `file` describes, whatever is written meanwhile.
   * `not-found`; `range-unsatisfiable`; `condition-failed` when `ifMatch` is another etag than the file's.
   * With `ifBelow` the bytes are wanted only of a file that has fewer than so many: of another, `file` may be what was
   * known of it seconds ago, and `body` gives any part of it, or nothing.
   */
  read(
    file: FilePath,
    options?: { range?: ByteRange; ifMatch?: string; ifBelow?: number } & Cancellable,
  ): Promise<Content>;

  /**
   * Writes a whole file, its parent folders too. All or nothing: readers see the old bytes or the new, and when
   * the promise resolves, the bytes are as safe as the backend can make them. Consumes `upload.body`; on any
   * error the old file stays and the body is destroyed.
   * `condition-failed`; `wrong-kind`; `too-large` over the store's limit; `unsupported` for a condition that
   * the store can't honour.
   */
  write(file: FilePath, upload: Upload, options?: { condition?: WriteCondition } & Cancellable): Promise<FileEntry>;

  /**
   * Removes a file; its folder stays. `not-found`; with `ifMatch`, `condition-failed` when the file has another etag,
   * and then it stays.
   */
  remove(file: FilePath, options?: { ifMatch?: string } & Cancellable): Promise<void>;

  /**
   * Makes a folder and its parents; does nothing where it exists, but see to it that it stays when it is empty.
   * `wrong-kind` where a file is in the way.
   */
  createFolder(folder: FolderPath, options?: Cancellable): Promise<void>;

  /** Removes a folder that holds nothing. `not-found`; `already-exists` when something is in it. */
  removeFolder(folder: FolderPath, options?: Cancellable): Promise<void>;

  /** As `write`, before the destination is known. Without it, `Files` keeps the bytes in a temporary file. */
  stage?(upload: Pick<Upload, 'body' | 'release'>, options?: Cancellable): Promise<StagedUpload>;

  /**
   * Copies a file within the store, with its type and, where the store keeps times, its modification time; all or nothing.
   * `not-found`, `already-exists`, `wrong-kind`.
   */
  copy?(from: FilePath, to: FilePath, options: Replacing & Cancellable): Promise<FileEntry>;

  /**
   * Moves a file; at every moment it is at one of the two paths at least. Called again after an interruption,
   * it completes. Errors as `copy`.
   */
  move?(from: FilePath, to: FilePath, options: Replacing & Cancellable): Promise<void>;

  /**
   * Copies a folder with everything in it. A copy that fails or is cancelled leaves no destination where none was
   * before; one that was to be replaced stays as it was where the store does all in one step, and is completed by
   * the same call elsewhere.
   * `to` is not within `from`, nor `from` within `to`. `not-found`, `already-exists`, `wrong-kind`;
   * `invalid-path` when a path in the copy would be too long.
   */
  copyFolder?(from: FolderPath, to: FolderPath, options: Replacing & Reporting & Cancellable): Promise<void>;

  /**
   * Moves a folder with everything in it; at every moment each file is at one of the two places at least, and what
   * arrives in the source meanwhile is not lost. Interrupted and called again, it completes. The rest as `copyFolder`.
   */
  moveFolder?(from: FolderPath, to: FolderPath, options: Replacing & Reporting & Cancellable): Promise<void>;

  /** Removes a folder with everything in it. `not-found`. */
  removeTree?(folder: FolderPath, options?: Reporting & Cancellable): Promise<void>;

  /**
   * Everything below `folder`, at any depth, in the order of `comparePaths`: files, and the folders that would
   * not be there without being named (empty ones, at least). Nothing for a missing folder.
   */
  walk?(folder: FolderPath, options?: Cancellable): AsyncIterable<Entry>;

  /**
   * A URL that gives the file to whoever has it, for `expires` seconds: its bytes or, for `stat`, what is known of it
   * alone (GET or HEAD, in terms of HTTP). It gives the file as `presentationOf` says,
   * as far as the store can be told of it: as an attachment of its name with `download`, and where it may not be shown.
   * Does not look whether the file still exists. A URL that starts with `/` is one of the service's own.
   */
  presign?(
    file: FileEntry,
    options: { expires: number; download: boolean; purpose: 'read' | 'stat' } & Cancellable,
  ): Promise<string>;

  /**
   * The contents of a small file, whole and as `read` gives them, where the store remembers them and they still hold; else
   * undefined, whatever the reason. Without a promise where that is known at once, as all that is done around one costs
   * more than such a file. Never fails.
   */
  readCached?(file: FilePath): Content | undefined | Promise<Content | undefined>;

  /** Whether the store is reachable and usable; throws the reason. */
  check?(options?: Cancellable): Promise<void>;

  /**
   * What is left of the requests that the backend allows, as it told last; undefined before it told. Only where there is
   * such a limit. Never throws.
   */
  quota?(): Quota | undefined;

  /**
   * Whether a file at this path would change how the store treats other files, as `.gitattributes` does in a repository:
   * only users who may manage the root may write it. Looks at the path alone. Never throws.
   */
  isPrivileged?(file: FilePath): boolean;

  /** Gives back what the store holds: connections, temporary files. */
  close?(): Promise<void>;
}

/** The most entries on one page of a listing, and their number where none is asked for. */
export const MAX_PAGE = 1000;
