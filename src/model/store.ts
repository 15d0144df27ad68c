import type { Readable } from 'node:stream';
import type { ContentCoding } from './content-coding.ts';
import type { KeptId } from './kept-ids.ts';
import type { FilePath, FolderPath } from './path.ts';
import type { ByteRange, ResolvedRange } from './range.ts';

/**
 * The metadata of a file. `list`, `stat`, `read` and `write` return the same entry, except for values that a backend
 * does not always know: `list` can return the media type for the name and the time of the last write, and `write` can
 * return no modification time.
 */
export interface FileEntry {
  readonly kind: 'file';
  readonly path: FilePath;
  /** Size in bytes. */
  readonly size: number;
  /**
   * A strong ETag without quotes. It changes whenever the content changes. Two files of one store with the same size
   * and ETag have the same content.
   */
  readonly etag: string;
  /**
   * The modification time: the time of the last write, or the time in `Upload.modified`. Null if the store does not
   * know it.
   */
  readonly modified: Date | null;
  /**
   * The time at which this version appeared at its path, if it differs from `modified`. They differ if the client set
   * `modified`, or if a copy or move preserved it. Only this time then proves that the file has not changed since a
   * date. `write` can return an earlier time.
   */
  readonly changed?: Date;
  /** The media type with its parameters. */
  readonly type: string;
  /** Whether the process might not be permitted to read the file. `stat` finds out. Only in listings (`checkReadable`). */
  readonly mayBeUnreadable?: true;
  /**
   * The coding of the stored bytes, if other programs stored them compressed (`Content-Encoding`). Size, ETag and ranges are
   * those of the stored bytes. Absent in listings.
   */
  readonly encoding?: ContentCoding;
  /** The URL at which anyone can read the file, if the store is public. */
  readonly publicUrl?: string;
}

export interface FolderEntry {
  readonly kind: 'folder';
  readonly path: FolderPath;
}

export type Entry = FileEntry | FolderEntry;

export interface ListOptions extends Cancellable {
  readonly cursor?: string;
  readonly limit?: number;
  /** Sets `mayBeUnreadable` of files, in stores whose files can have permissions of their own. */
  readonly checkReadable?: boolean;
}

export interface Listing {
  readonly entries: readonly Entry[];
  /** The start of the next page; absent on the last page. Only the store interprets it. */
  readonly cursor?: string;
  /**
   * Names of files and folders that the listing omits because no path can name them, for people: what is not UTF-8 is
   * replaced. Each of them is on one page, at most `MAX_OMITTED_NAMES` per page.
   */
  readonly omitted?: readonly string[];
}

/** An open file. Its body is the range `range`, or the whole file if `range` is absent. */
export interface Content {
  readonly file: FileEntry;
  readonly range?: ResolvedRange;
  /**
   * The content in one buffer, if it was already in memory, as for a small file. Callers that use it ignore `body`,
   * because a stream with a single chunk costs more than its read.
   */
  readonly bytes?: Buffer;
  /**
   * The content as a stream. The caller reads it to the end or destroys it. If `bytes` is set, the caller may ignore
   * it.
   */
  readonly body: Readable;
}

/** A file to be written. */
export interface Upload {
  /** Ends after the last byte. An error on it fails the write, and the old file remains. */
  readonly body: Readable;
  /** Size in bytes, if known in advance. A body of another size fails the write with `invalid-request`. */
  readonly size?: number | undefined;
  /** Maximum size of the body in bytes, if known, such as the length of the request that contains it. */
  readonly maxSize?: number | undefined;
  /** The media type to store. A store that can't store types derives them from the name. */
  readonly type: string;
  /**
   * Returns the modification time to store, if any. Call it after the end of `body`, because a form can contain the
   * time after the file. A store that needs it earlier calls it once a part of `body` has arrived. Some stores don't store times, or only in a limited range. The entry that `write` returns
   * has the stored time in `modified`.
   */
  readonly modified?: (() => Date | undefined) | undefined;
}

/** `absent`: the write succeeds only if no file exists. With an ETag: only if the file has this ETag. */
export type WriteCondition = 'absent' | { readonly etag: string };

/** Where an upload will be written, and on which condition. */
export interface UploadDestination extends Pick<Upload, 'type' | 'size'> {
  readonly file: FilePath;
  /** The modification time to store, for stores that record it before the content. */
  readonly modified?: Date | undefined;
  /** The username of the user who uploads, for stores that record it before the content. Absent for an anonymous user. */
  readonly user?: string | undefined;
  readonly condition?: WriteCondition | undefined;
}

/** What a write has done to its path. */
export interface WriteOutcome {
  /** Whether the file replaced another one. */
  readonly replaced: boolean;
}

/** Options of `Store.write`. */
export interface WriteOptions {
  readonly condition?: WriteCondition | undefined;
  /**
   * Called before the promise resolves, unless the store would need another request to know the outcome. After retries,
   * the last call counts. Another writer at the same time can make the outcome wrong.
   */
  readonly onOutcome?: ((outcome: WriteOutcome) => void) | undefined;
}

/** The progress of a long operation: finished files, all files (null while unknown), and finished bytes. */
export interface Progress {
  readonly done: number;
  readonly total: number | null;
  readonly bytes: number;
}

export interface Cancellable {
  /** Aborts the operation. Each operation documents whether it undoes partial work. */
  readonly signal?: AbortSignal;
}

/**
 * What happened to a folder since a state of the store. `replaced` if its path had no folder at a time since then, or if that is
 * unknown; `content` if something in it changed, or if it was created; otherwise `none`.
 */
export type FolderChange = 'none' | 'content' | 'replaced';

export interface Bounded {
  /**
   * Leaves alone what arrived at the path at or after this time, which belongs to a later change. Stores without `now` need not know
   * that. Stores with `identify` need not know it for moves and copies, because it tells their callers, and take the time as
   * exact. They can leave everything alone, and throw `job-outdated`.
   */
  readonly before?: Date | undefined;
  /** Acts only on the item with this identity. Otherwise `not-found`, and nothing changes. Without `identify`, it has no effect. */
  readonly identity?: string | undefined;
}

export interface Undoing {
  /** Called before a copy that failed is removed. If it rejects, another process has continued the copy, which then remains. */
  readonly beforeUndo?: (() => Promise<void>) | undefined;
}

export interface Reporting {
  /** Called during the operation, and never after its end. */
  readonly onProgress?: (progress: Progress) => void;
}

export interface Replacing {
  /**
   * Whether the operation may replace an existing destination. If false, an existing destination is `already-exists`.
   */
  readonly replace: boolean;
}

/** How to move a file. */
export interface Moving extends Replacing, Keeping, Cancellable {
  /** Called with the ETag of the moved file before the move ends, if it differs from that of the source. */
  readonly onNewEtag?: ((etag: string) => void) | undefined;
}

/** How to keep the file or folder that an operation replaces. */
export interface Keep {
  /** The username of the user who replaces it. Absent for an anonymous user. */
  readonly user?: string | undefined;
  /**
   * Called before the operation ends, with the id under which something was kept. Not called if nothing was replaced.
   */
  readonly onKept?: (id: KeptId) => void;
  /** Called instead if the destination already had this content, and the store therefore changed and kept nothing. */
  readonly onUnchanged?: () => void;
}

export interface Keeping {
  /**
   * Keeps a file that the operation replaces as a version of its path (`VersionStore`), and a folder that it replaces
   * as an item in the trash (`TrashStore`). Set only if the store has these members. New content never appears without
   * the old content being kept. A failed operation leaves neither a version nor an item, unless another change took the
   * path meanwhile.
   */
  readonly keep?: Keep | undefined;
}

/**
 * Gets the files that appeared, changed or disappeared, and the folders that appeared or disappeared; undefined if any
 * file or folder can have changed. A folder that appeared can have content that is not reported.
 */
export type ReportChanges = (paths: readonly (FilePath | FolderPath)[] | undefined) => void;

/** The request limit of a backend for a period, as of its last response. */
export interface Quota {
  readonly limit: number;
  readonly remaining: number;
  /** The time at which `remaining` returns to `limit`. */
  readonly reset: Date;
}

/** The space of a volume in bytes. */
export interface Space {
  /** Bytes that can still be written. */
  readonly available: number;
  readonly used: number;
  /** A name of the volume, which no other volume of the store has. Absent if the store has only one. */
  readonly volume?: string;
}

/** A staged upload, whose destination was unknown when its content arrived. */
export interface StagedUpload {
  /**
   * Writes the staged content to `file`. Same guarantees and errors as `Store.write`. After `condition-failed` or
   * `wrong-kind`, it can be called again for another file.
   */
  commit(
    file: FilePath,
    upload: Pick<Upload, 'type' | 'modified'>,
    options?: WriteOptions & Keeping,
  ): Promise<FileEntry>;
  /** Discards the staged content. Call it also after a `commit`, whose file remains. */
  abort(): Promise<void>;
}

export interface AppendOptions extends Cancellable {
  /** Maximum size of the body in bytes, if known. */
  readonly maxSize?: number | undefined;
  /** The file of `createUpload`, for limits of its volume. */
  readonly file?: FilePath;
  readonly verify?: (() => Promise<void>) | undefined;
  readonly onDurable?: ((offset: number) => void) | undefined;
}

/** An upload whose content arrives in several requests. Only one caller at a time may use it. */
export interface PendingUpload {
  /** Bytes of the content that arrived and are durable: the next byte has this position. */
  readonly offset: number;
  /**
   * Appends a body, and resolves to the new offset when its bytes are durable. If the body fails or `signal` aborts, keeps
   * the bytes that arrived, and throws the reason. With `verify`, which is called after the last byte, keeps none of them
   * if it throws, or if the body fails, and throws `upload-in-use` while presigned parts can arrive. Calls `onDurable` with
   * each offset that is reached before, if the store knows it.
   */
  append(body: Readable, options?: AppendOptions): Promise<number>;
  /**
   * Writes the content to `file` and ends the upload. `file`, the media type and the time are those of `createUpload`. Same
   * guarantees and errors as `Store.write`; after an error, the upload remains. An interrupted commit completes when it is
   * called again.
   */
  commit(
    file: FilePath,
    upload: Pick<Upload, 'type' | 'modified'>,
    options?: WriteOptions & Keeping,
  ): Promise<FileEntry>;
  /** Discards the content and ends the upload. */
  remove(): Promise<void>;
}

/** A part of an upload that a client sends to the store itself. */
export interface PartToPresign {
  /** From 1. */
  readonly number: number;
  /** The MD5 of its bytes, in Base64. */
  readonly md5: string;
}

/** A request that sends one part of an upload to the store. */
export interface PresignedPart {
  readonly number: number;
  /** The position of its first byte in the content. */
  readonly offset: number;
  readonly size: number;
  /** For a PUT of exactly these bytes. */
  readonly url: string;
  /** The headers that the request must have, in addition to `Content-Length`. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface PresignedParts {
  /** Bytes of every part except the last. */
  readonly partSize: number;
  /** In the order of the request. */
  readonly parts: readonly PresignedPart[];
}

/**
 * A storage backend. Required members exist in every backend. An optional member is a capability: it is present only
 * if the backend does better than the fallback that `Files` composes from the required members. There are no flags
 * for capabilities. Each backend lists its own (`Backend.capabilities`), and tests hold the open store to that list.
 *
 * All paths are valid (`path.ts`). A store throws `invalid-path` only for its own limits, such as a segment that is
 * too long for its file system.
 *
 * Every expected error is a `StoreError`. Each member documents the kinds that callers handle. Any member can also
 * throw `denied` and `unavailable`. Any other error is a bug in Holdall.
 */
export interface Store extends Partial<TrashStore>, Partial<VersionStore> {
  /**
   * Lists the direct children of `folder` in the order of `comparePaths`, at most `limit` of them. A page can be
   * shorter although more entries follow. Omits markers and keys that are not valid paths. The root always exists.
   * Throws `not-found` if the folder does not exist, and `invalid-request` if the cursor is invalid.
   */
  list(folder: FolderPath, options?: ListOptions): Promise<Listing>;

  /** Returns the metadata of a file. Throws `not-found` if it does not exist, also if a folder has the name. */
  stat(file: FilePath, options?: Cancellable): Promise<FileEntry>;

  /**
   * Opens a file for reading. Resolves after the backend has confirmed that the file exists, so that a missing file
   * never turns into a broken response body. All bytes belong to the version that `file` describes, even if the file
   * is replaced during the read.
   *
   * Throws `not-found`, `range-unsatisfiable`, and `condition-failed` if `ifMatch` differs from the file's ETag.
   * Callers that set `maxSize` need the content only of a file with at most that many bytes. For larger files, returns
   * metadata only, possibly seconds old: `body` can be empty or incomplete. Callers that set `isOnce` read many files once,
   * which must not displace others from caches in memory.
   */
  read(
    file: FilePath,
    options?: { range?: ByteRange; ifMatch?: string; maxSize?: number; isOnce?: boolean } & Cancellable,
  ): Promise<Content>;

  /**
   * Writes a file atomically and creates its parent folders: readers see either the old or the new content. When the
   * promise resolves, the content is as durable as the backend allows. Consumes `upload.body`. On any error, the old
   * file remains and the body is destroyed.
   *
   * Throws `condition-failed`, `wrong-kind`, `too-large` if the content exceeds the store's limit, and `unsupported`
   * if the store can't enforce the condition.
   */
  write(file: FilePath, upload: Upload, options?: WriteOptions & Keeping & Cancellable): Promise<FileEntry>;

  /**
   * Deletes a file; its folder remains. Throws `not-found`. Throws `condition-failed`, and deletes nothing, if
   * `ifMatch` is set and differs from the file's ETag.
   */
  remove(file: FilePath, options?: { ifMatch?: string } & Cancellable): Promise<void>;

  /**
   * Sets the modification time of a file, without changing its content. Its ETag can change, to one that it never had. The
   * file keeps its time if the backend can't store this one. Throws `not-found`.
   */
  setModified?(file: FilePath, modified: Date, options?: Cancellable): Promise<FileEntry>;

  /**
   * Creates a folder and its parents. If the folder exists, only ensures that it remains when it becomes empty.
   * Throws `wrong-kind` if a file has one of the names.
   */
  createFolder(folder: FolderPath, options?: Cancellable): Promise<void>;

  /** Returns whether a folder exists. Present if that costs less than `list`. */
  hasFolder?(folder: FolderPath, options?: Cancellable): Promise<boolean>;

  /**
   * Returns the identity of a file or folder: an opaque text of at most 64 ASCII characters that no other item of the
   * store has or will have. It remains when the item is renamed or moved inside the store, also by other programs, when
   * the items in a folder change, and after a restart. A new item at the same path has another one, also a file that
   * replaces a file, and a copy. Returns undefined if the path has no item of this kind, or if its identity is unknown.
   */
  identify?(path: FilePath | FolderPath, options?: Cancellable): Promise<string | undefined>;

  /**
   * Returns the time by the clock that gives files their modification times: without `identify`, rounded down to seconds.
   * Members with `Bounded` options compare these times.
   */
  now?(options?: Cancellable): Promise<Date>;

  /**
   * Returns the present state of the store: an opaque text. Present instead of `identify` and `now` if the store has a
   * history.
   */
  state?(options?: Cancellable): Promise<string>;

  /** Returns what happened to a folder since a state. Present together with `state`. */
  changeSince?(state: string, folder: FolderPath, options?: Cancellable): Promise<FolderChange>;

  /** Deletes an empty folder. Throws `not-found`, and `already-exists` if the folder is not empty. */
  removeFolder(folder: FolderPath, options?: Cancellable): Promise<void>;

  /**
   * Stages the content of a file before its destination is known. `Files` uses a temporary file for stores that lack
   * this capability.
   */
  stage?(upload: Pick<Upload, 'body' | 'maxSize'>, options?: Cancellable): Promise<StagedUpload>;

  /**
   * Begins an upload whose content arrives in several requests, also of other processes. `id` is a new ID, of letters,
   * digits and `-`. The upload is durable until it is committed or removed. Present together with `openUpload`.
   *
   * Throws the errors that a write to `target` would have now: `condition-failed`, `wrong-kind`, `unsupported`.
   */
  createUpload?(id: string, target: UploadDestination, options?: Cancellable): Promise<void>;

  /** Opens an upload that `createUpload` began. Throws `not-found`, also after its end. */
  openUpload?(id: string, options?: Cancellable): Promise<PendingUpload>;

  /**
   * Removes the uploads that nothing has changed since `before`, by the clock of the store, and for which `isOrphaned`
   * resolves to true. Can be interrupted and repeated. Returns their number. Present together with `openUpload`.
   */
  removeUploads?(options: OrphanedUploads & Cancellable): Promise<number>;

  /**
   * Returns requests by which a client sends parts of an upload to the store itself, in any order, for `expires` seconds.
   * The store rejects a request with another length or checksum, and every request after the end of the upload. A part
   * counts for `PendingUpload.offset` when all parts before it have arrived. Without parts to presign, only returns the
   * size of parts. Present only together with `openUpload`.
   *
   * Throws `not-found` like `openUpload`, and `invalid-request` if the upload has no such part, or began without a size.
   */
  presignParts?(
    id: string,
    parts: readonly PartToPresign[],
    options: { readonly expires: number } & Cancellable,
  ): Promise<PresignedParts>;

  /**
   * Copies a file inside the store, with its media type and, if the store keeps times, its modification time. Atomic.
   * Throws `not-found`, `already-exists`, `wrong-kind`.
   */
  copy?(from: FilePath, to: FilePath, options: Replacing & Keeping & Cancellable): Promise<FileEntry>;

  /**
   * Moves a file. At any moment, it exists at one of the two paths or at both. An interrupted move completes when it
   * is called again. Throws the same errors as `copy`.
   */
  move?(from: FilePath, to: FilePath, options: Moving): Promise<void>;

  /**
   * Copies a folder and everything in it. `to` and `from` are not inside each other. If a copy to a new destination
   * fails or is cancelled, it leaves no destination. If the copy replaces a folder, that folder remains unchanged in
   * stores that copy in one step. In other stores, repeating the call completes the copy.
   *
   * Throws `not-found`, `already-exists`, `wrong-kind`, and `invalid-path` if a path in the copy would be too long.
   */
  copyFolder?(
    from: FolderPath,
    to: FolderPath,
    options: Replacing & Keeping & Bounded & Undoing & Reporting & Cancellable,
  ): Promise<void>;

  /**
   * Moves a folder and everything in it. At any moment, each file exists at the source or at the destination. Files
   * that arrive in the source during the move are not lost. An interrupted move completes when it is called again.
   * Otherwise the same contract as `copyFolder`.
   */
  moveFolder?(
    from: FolderPath,
    to: FolderPath,
    options: Replacing & Keeping & Bounded & Reporting & Cancellable,
  ): Promise<void>;

  /** Deletes a folder and everything in it. Throws `not-found`. */
  removeTree?(folder: FolderPath, options?: Bounded & Reporting & Cancellable): Promise<void>;

  /**
   * Lists everything below `folder`, at any depth, in the order of `comparePaths`. Yields files, and folders that
   * exist only as entries of their own: at least the empty ones. Yields nothing for a missing folder.
   */
  walk?(folder: FolderPath, options?: Cancellable): AsyncIterable<Entry>;

  /**
   * Returns a URL that grants access to the file for `expires` seconds, without authentication. It allows a GET of
   * the content, or with the purpose `stat` only a HEAD. The response has the headers of `presentationOf`, as far as
   * the store supports them. The file is an attachment if `download` is set, or if browsers may not display it. Does
   * not check whether the file still exists. A URL that starts with `/` belongs to the service.
   */
  presign?(
    file: FileEntry,
    options: { expires: number; download: boolean; purpose: 'read' | 'stat' } & Cancellable,
  ): Promise<string>;

  /**
   * Returns the whole content of a small file, like `read`, if the store has it cached and it is still valid;
   * otherwise undefined. Never throws or rejects. Returns without a promise if possible, because a promise costs more
   * than serving such a file.
   */
  readCached?(file: FilePath): Content | undefined | Promise<Content | undefined>;

  /**
   * Returns the maximum length of a path in UTF-8 bytes. Default: `MAX_KEY_BYTES`. The members of the store throw
   * `path-too-long` for longer paths, and listings omit them.
   */
  maxPathBytes?(): number;

  /** Checks that the store is reachable and usable. Throws the reason if it is not. */
  check?(options?: Cancellable): Promise<void>;

  /**
   * Returns the remaining requests that the backend allows, as of its last response; undefined before the first
   * response. Present only if the backend has such a limit. Never throws.
   */
  quota?(): Quota | undefined;

  /**
   * Returns the space of the volume that holds the files. With `path`, of the volume that would hold a file or folder at
   * this path. Other programs can share it.
   */
  space?(options?: { readonly path?: FilePath | FolderPath } & Cancellable): Promise<Space>;

  /**
   * Returns whether a file at this path changes how the store treats other files, as `.gitattributes` does in a
   * repository. Only users with the manage permission for the root may write such files. Checks only the path. Never
   * throws.
   */
  isPrivileged?(file: FilePath): boolean;

  /**
   * Returns whether the size of a file in a listing is that of its content, which `stat` returns. Present only if it can
   * be another one, as for a pointer of Git LFS. Never throws.
   */
  isSizeCertain?(file: FileEntry): boolean;

  /**
   * Reports changes in the store, also those by other programs, until `signal` aborts. Reports undefined when it has
   * started, and when it might have missed changes. Can report a path several times, and without a change. Reports
   * nothing while the store is unavailable. Never throws.
   */
  watch?(report: ReportChanges, options: { readonly signal: AbortSignal }): void;

  /** Releases the store's resources: connections and temporary files. */
  close?(): Promise<void>;
}

/** An optional member of a store. */
export type Capability = {
  [Member in keyof Store]-?: object extends Pick<Store, Member> ? Member : never;
}[keyof Store];

/** Selects uploads that nothing can continue. */
export interface OrphanedUploads {
  readonly before: Date;
  readonly isOrphaned: (id: string) => Promise<boolean>;
}

/** A file or folder in the trash. */
export interface TrashedItem {
  readonly id: KeptId;
  /** The path from which it was deleted. The path of a folder ends with `/`. */
  readonly path: FilePath | FolderPath;
  readonly deletedAt: Date;
  /** The username of the user who deleted it, if known. */
  readonly user?: string;
  /** Size in bytes, if known without reading a folder. */
  readonly size?: number;
}

/** A page of the trash. */
export interface TrashListing {
  readonly items: readonly TrashedItem[];
  /** The start of the next page; absent on the last page. */
  readonly cursor?: string;
}

export interface TrashPageOptions extends Cancellable {
  /** The `cursor` of the previous page, or the id of an item, after which the page starts. The item can be gone. */
  readonly cursor?: string | undefined;
  readonly limit?: number | undefined;
  /** The store can omit items of other paths, so that it does not read all of them. */
  readonly isSelected?: ((path: FilePath | FolderPath) => boolean) | undefined;
}

/**
 * The members of a store with a trash. Either all of them are present, or none; `purgeTrashed` is absent if the store
 * can't remove content permanently, as a branch can't. The store itself holds the records, so that the trash survives
 * the loss of everything else. Items in the trash are invisible to all other members.
 */
export interface TrashStore {
  /**
   * Moves a file, or a folder and everything in it, to the trash. The item appears in the trash as soon as nothing of it
   * remains at `path`. At any moment, each file exists at its path or in the trash. An interrupted call completes when it
   * is called again: the item then has the id of the call that began it, which can differ from `id`.
   *
   * Throws `not-found`. Throws `condition-failed`, and moves nothing, if `ifMatch` is set and differs from the ETag of
   * the file. If it is cancelled, it moves everything back or nothing.
   */
  moveToTrash(
    path: FilePath | FolderPath,
    options: { id: KeptId; user?: string | undefined; ifMatch?: string } & Bounded & Reporting & Cancellable,
  ): Promise<TrashedItem>;

  /**
   * Lists the trash, the newest items first, at most `limit` of them. A page can be shorter although more items follow.
   * Items that are added or removed between two pages don't shift the others. Throws `invalid-request` if the cursor is
   * invalid.
   */
  listTrash(options?: TrashPageOptions): Promise<TrashListing>;

  /** Returns an item of the trash. Throws `not-found`, also for an id that the store can't have issued. */
  findTrashed(id: KeptId, options?: Cancellable): Promise<TrashedItem>;

  /** Returns the size of an item in bytes. Reads a folder once; afterwards its `size` is known. Throws `not-found`. */
  measureTrashed(id: KeptId, options?: Cancellable): Promise<number>;

  /**
   * Moves an item out of the trash to `to`, which has the kind of the item, and creates the parents of `to`. Replaces
   * nothing. The item leaves the trash as soon as all of it is at `to`. An interrupted call completes when it is called
   * again. Of several calls for one item, one succeeds and the others throw `not-found`.
   *
   * Throws `not-found`, `already-exists`, `wrong-kind`, and `invalid-path` if a path would be too long.
   */
  restoreTrashed(id: KeptId, to: FilePath | FolderPath, options?: Reporting & Cancellable): Promise<void>;

  /** Permanently removes an item from the trash. Throws `not-found`. */
  purgeTrashed?(id: KeptId, options?: Reporting & Cancellable): Promise<void>;
}

/** An earlier content of a file. */
export interface FileVersion {
  readonly id: KeptId;
  /** Size in bytes. */
  readonly size: number;
  /** The modification time of the content, if known. */
  readonly modified: Date | null;
  /** The time at which the content was replaced. */
  readonly replacedAt: Date;
  /** The username of the user who replaced it, if known. */
  readonly replacedBy?: string;
  /** The user who wrote it, if the store knows that, as a commit does. */
  readonly user?: string;
  /** A description of the change that wrote it, such as a commit message. */
  readonly message?: string;
}

/** A page of the versions of a file. */
export interface VersionListing {
  readonly versions: readonly FileVersion[];
  /** The start of the next page; absent on the last page. Only the store interprets it. */
  readonly cursor?: string;
}

/**
 * The members of a store that keeps earlier contents of files. Either all of them are present, or none; the members that
 * remove versions are absent if the store can't remove content permanently.
 *
 * Versions belong to the path at which they were replaced, also after the file was deleted, moved or renamed. A file
 * that arrives at a path therefore has the versions of that path, and not those of its former path.
 * docs/decisions/versions-by-path.md gives the reasons.
 */
export interface VersionStore {
  /**
   * Lists the versions of a path, the most recently replaced first, without the current content. Returns an empty list
   * for a path without versions. Paginates like `listTrash`.
   */
  listVersions(file: FilePath, options?: { cursor?: string; limit?: number } & Cancellable): Promise<VersionListing>;

  /** Opens a version, with the contract of `Store.read`. The ETag belongs to the version and never changes. */
  readVersion(
    file: FilePath,
    id: KeptId,
    options?: { range?: ByteRange; ifMatch?: string; maxSize?: number } & Cancellable,
  ): Promise<Content>;

  /**
   * Writes a copy of a version to `file`, with the media type and the modification time of the version, as far as the
   * store stores them. Atomic. The version remains. Throws `not-found`, `condition-failed`, and `wrong-kind`.
   */
  restoreVersion(
    file: FilePath,
    id: KeptId,
    options: { condition?: WriteCondition } & Keeping & Cancellable,
  ): Promise<FileEntry>;

  /**
   * Permanently removes the versions of a file, or of all files below a folder. With `before`, only those that were
   * replaced earlier.
   */
  purgeVersions?(path: FilePath | FolderPath, options?: { before?: Date } & Cancellable): Promise<void>;

  /**
   * Permanently removes versions of any file: those that were replaced before `before`, and the oldest ones until the
   * others have at most `maxBytes`. Safe while other processes do the same.
   */
  expireVersions?(options: { before?: Date; maxBytes?: number } & Cancellable): Promise<ExpiredVersions>;
}

/** The result of `expireVersions`. */
export interface ExpiredVersions {
  /** Number of removed versions. */
  readonly removed: number;
  /** Number and total bytes of the remaining versions. */
  readonly remaining: number;
  readonly bytes: number;
}

/** Maximum number of omitted names on one page of a listing. */
export const MAX_OMITTED_NAMES = 1000;

/** Maximum and default number of entries on one page of a listing. */
export const MAX_PAGE = 1000;
