import { isStoreError, quoted, StoreError, type StoreErrorCode } from '../model/error.ts';
import { invalidCursor } from '../model/page.ts';
import { type FilePath, type FolderPath, isTooLong, ROOT } from '../model/path.ts';
import type { Cancellable, Content, Entry, FileEntry } from '../model/store.ts';
import { notFound } from '../model/store-errors.ts';
import type { DownloadGrant } from '../model/url-signer.ts';
import type { Download, DownloadOptions } from './download.ts';
import type { Files } from './files.ts';
import { noTrash } from './trash.ts';

/** The parameters of a member of `Files`. */
type Args<Member extends keyof Files> = Parameters<Files[Member]>;

export interface SharedFilesOptions {
  /** The folder that appears as the root. */
  readonly folder: FolderPath;
  /** The name of the only file that exists in it; undefined to share the folder. */
  readonly file: string | undefined;
  /** Encrypts cursors, which contain paths. `open` returns undefined for a cursor that `seal` did not return. */
  readonly cursors: { seal(cursor: string): string; open(sealed: string): string | undefined };
  /** Returns the URL of a file that is too large to be sent directly. The path of the grant is relative. */
  readonly sign: (grant: Omit<DownloadGrant, 'expires'>) => string;
}

/**
 * The files of a shared folder, or a single shared file, as if nothing else existed. All paths are relative to the
 * shared folder, in arguments, results, cursors and errors. There is no trash, and there are no versions. Presigned URLs
 * contain the path in the store, so large files have signed URLs of the service instead.
 *
 * `Required` makes a new member of `Files` a type error here, also if it is optional.
 */
export class SharedFiles implements Required<Files> {
  readonly #files: Files;
  readonly #options: SharedFilesOptions;

  constructor(files: Files, options: SharedFilesOptions) {
    this.#files = files;
    this.#options = options;
  }

  list(...[folder, options = {}]: Args<'list'>) {
    return this.#run(async () => {
      const { file, cursors } = this.#options;
      if (file !== undefined) return { entries: [await this.#findOnly(folder, file, options)] };
      const { cursor: sealed, ...rest } = options;
      const cursor = sealed === undefined ? undefined : cursors.open(sealed);
      if (sealed !== undefined && cursor === undefined) throw invalidCursor(sealed);
      const page = await this.#files.list(this.#absolute(folder), { ...rest, ...(cursor !== undefined && { cursor }) });
      return {
        entries: page.entries.map((entry) => this.#relativeEntry(entry)),
        ...(page.cursor !== undefined && { cursor: cursors.seal(page.cursor) }),
        ...(page.omitted && { omitted: page.omitted }),
      };
    });
  }

  stat(...[file, options]: Args<'stat'>) {
    return this.#run(async () => this.#relativeFile(await this.#files.stat(this.#absolute(file), options)));
  }

  folderExists(...[folder, options]: Args<'folderExists'>) {
    return this.#run(async () => {
      if (this.#options.file !== undefined) return folder === ROOT;
      return this.#files.folderExists(this.#absolute(folder), options);
    });
  }

  /** Visitors don't learn about the volume. */
  async space() {
    return undefined;
  }

  read(...[file, options]: Args<'read'>) {
    return this.#run(async () => {
      return this.#relativeContent(await this.#files.read(this.#absolute(file), options));
    });
  }

  download(...[file, options]: Args<'download'>): Promise<Download> {
    return this.#run(async () => {
      const download = await this.#files.download(this.#absolute(file), options);
      if ('url' in download) return { url: this.#sign(file, options) };
      return { content: this.#relativeContent(download.content) };
    });
  }

  downloadUrl(...[file, options]: Args<'downloadUrl'>) {
    return this.#run(async () => {
      const url = await this.#files.downloadUrl({ ...file, path: this.#absolute(file.path) }, options);
      return url === undefined ? undefined : this.#sign(file.path, options);
    });
  }

  readCached(...[file]: Args<'readCached'>) {
    if (this.#isHidden(file) || this.#isTooLong(file)) return undefined;
    const cached = this.#files.readCached(this.#absolute(file));
    return cached instanceof Promise
      ? cached.then((content) => content && this.#relativeContent(content))
      : cached && this.#relativeContent(cached);
  }

  upload(...[incoming, options]: Args<'upload'>) {
    return this.#run(async () => {
      const { target } = incoming;
      const absolute = (found: Exclude<typeof target, () => unknown>) => ({
        ...found,
        path: this.#absolute(found.path),
      });
      const translated = typeof target === 'function' ? async () => absolute(await target()) : absolute(target);
      return this.#relativeFile(await this.#files.upload({ ...incoming, target: translated }, options));
    });
  }

  deleteFile(...[file, options]: Args<'deleteFile'>) {
    return this.#run(async () => this.#files.deleteFile(this.#absolute(file), options));
  }

  renameFile(...[file, name, options]: Args<'renameFile'>) {
    return this.#run(async () => this.#relative(await this.#files.renameFile(this.#absolute(file), name, options)));
  }

  copyFile(...[from, to, options]: Args<'copyFile'>) {
    return this.#run(async () =>
      this.#relativeFile(await this.#files.copyFile(this.#absolute(from), this.#absolute(to), options)),
    );
  }

  moveFile(...[from, to, options]: Args<'moveFile'>) {
    return this.#run(async () => this.#files.moveFile(this.#absolute(from), this.#absolute(to), options));
  }

  setModified(...[file, modified, options]: Args<'setModified'>) {
    return this.#run(async () =>
      this.#relativeFile(await this.#files.setModified(this.#absolute(file), modified, options)),
    );
  }

  createFolder(...[folder, options]: Args<'createFolder'>) {
    return this.#run(async () => this.#files.createFolder(this.#absolute(this.#belowRoot(folder)), options));
  }

  deleteFolder(...[folder, options]: Args<'deleteFolder'>) {
    return this.#run(async () => this.#files.deleteFolder(this.#absolute(this.#belowRoot(folder)), options));
  }

  renameFolder(...[folder, name, options]: Args<'renameFolder'>) {
    return this.#run(async () =>
      this.#relative(await this.#files.renameFolder(this.#absolute(this.#belowRoot(folder)), name, options)),
    );
  }

  copyFolder(...[from, to, options]: Args<'copyFolder'>) {
    return this.#run(async () =>
      this.#files.copyFolder(this.#absolute(from), this.#absolute(this.#belowRoot(to)), options),
    );
  }

  moveFolder(...[from, to, options]: Args<'moveFolder'>) {
    return this.#run(async () =>
      this.#files.moveFolder(this.#absolute(this.#belowRoot(from)), this.#absolute(this.#belowRoot(to)), options),
    );
  }

  async listTrash(): Promise<never> {
    throw noTrash();
  }

  async findTrashed(): Promise<never> {
    throw noTrash();
  }

  async restoreTrashed(): Promise<never> {
    throw noTrash();
  }

  async purgeTrashed(): Promise<never> {
    throw noTrash();
  }

  async emptyTrash(): Promise<never> {
    throw noTrash();
  }

  async listVersions(...[file]: Args<'listVersions'>): Promise<never> {
    throw noVersions(file);
  }

  async statVersion(...[file]: Args<'statVersion'>): Promise<never> {
    throw noVersions(file);
  }

  async readVersion(...[file]: Args<'readVersion'>): Promise<never> {
    throw noVersions(file);
  }

  async downloadVersion(...[file]: Args<'downloadVersion'>): Promise<never> {
    throw noVersions(file);
  }

  async versionUrl(...[file]: Args<'versionUrl'>): Promise<never> {
    throw noVersions(file.path);
  }

  async restoreVersion(...[file]: Args<'restoreVersion'>): Promise<never> {
    throw noVersions(file);
  }

  async deleteVersions(...[file]: Args<'deleteVersions'>): Promise<never> {
    throw noVersions(file);
  }

  check(...args: Args<'check'>) {
    return this.#run(() => this.#files.check(...args));
  }

  quota() {
    return this.#files.quota();
  }

  requireUnlocked(...[file]: Args<'requireUnlocked'>) {
    return this.#run(() => this.#files.requireUnlocked(this.#absolute(file)));
  }

  isPrivileged(...[file]: Args<'isPrivileged'>) {
    return this.#files.isPrivileged((this.#options.folder + file) as FilePath);
  }

  isSizeCertain(...[file]: Args<'isSizeCertain'>) {
    return this.#files.isSizeCertain({ ...file, path: (this.#options.folder + file.path) as FilePath });
  }

  maxPathBytes() {
    return this.#files.maxPathBytes() - Buffer.byteLength(this.#options.folder);
  }

  /** Returns the entry of the only file, which is all that its root lists. */
  async #findOnly(folder: FolderPath, name: string, options: Cancellable): Promise<Entry> {
    if (folder !== ROOT) throw notFound(folder);
    return this.#relativeFile(await this.#files.stat(this.#absolute(name as FilePath), options));
  }

  #isHidden(path: FilePath | FolderPath): boolean {
    const { file } = this.#options;
    return file !== undefined && path !== file;
  }

  /** Returns the path in the store. Throws `not-found` for anything except a single shared file. */
  #absolute<Path extends FilePath | FolderPath>(path: Path): Path {
    if (this.#isHidden(path)) throw notFound(path);
    if (this.#isTooLong(path)) throw new StoreError('path-too-long', `The path ${quoted(path)} is too long.`);
    return (this.#options.folder + path) as Path;
  }

  #isTooLong(path: FilePath | FolderPath): boolean {
    return isTooLong(this.#options.folder + path, this.#files.maxPathBytes());
  }

  /** Rejects the root, which is an ordinary folder of the store. */
  #belowRoot(folder: FolderPath): FolderPath {
    if (folder !== ROOT) return folder;
    throw new StoreError('root-not-allowed', "The root can't be changed. Name a folder below it.");
  }

  #relative<Path extends FilePath | FolderPath>(path: Path): Path {
    return path.slice(this.#options.folder.length) as Path;
  }

  #relativeEntry(entry: Entry): Entry {
    return entry.kind === 'file' ? this.#relativeFile(entry) : { ...entry, path: this.#relative(entry.path) };
  }

  /** Removes the public URL as well, which contains the path in the store. */
  #relativeFile(entry: FileEntry): FileEntry {
    return { ...entry, path: this.#relative(entry.path), publicUrl: undefined };
  }

  #relativeContent(content: Content): Content {
    return new RelativeContent(content, this.#relativeFile(content.file));
  }

  #sign(file: FilePath, { asAttachment }: Pick<DownloadOptions, 'asAttachment'>): string {
    return this.#options.sign({ file, download: asAttachment });
  }

  async #run<Result>(operation: () => Promise<Result>): Promise<Result> {
    try {
      return await operation();
    } catch (error) {
      throw isStoreError(error) ? relativeError(error, this.#options.folder) : error;
    }
  }
}

/** Open content with another path. Its body is created when it is first used, as that of the original. */
class RelativeContent implements Content {
  readonly file: FileEntry;
  readonly #content: Content;

  constructor(content: Content, file: FileEntry) {
    this.#content = content;
    this.file = file;
  }

  get range() {
    return this.#content.range;
  }

  get bytes() {
    return this.#content.bytes;
  }

  get body() {
    return this.#content.body;
  }
}

function noVersions(file: FilePath): StoreError {
  return new StoreError('unsupported', `The file ${quoted(file)} has no versions here.`);
}

/** The codes of errors that speak only of the paths of their request, and of numbers. */
const PATH_ERRORS: ReadonlySet<StoreErrorCode> = new Set<StoreErrorCode>([
  'path-too-long',
  'not-found',
  'already-exists',
  'folder-not-empty',
  'wrong-kind',
  'invalid-path',
  'unsupported-name',
  'root-not-allowed',
  'invalid-request',
  'invalid-cursor',
  'same-path',
  'folder-into-itself',
  'destination-contains-source',
  'incomplete-body',
  'unsupported-image',
  'damaged-image',
  'condition-failed',
  'file-changed',
  'name-taken',
  'range-unsatisfiable',
  'too-large',
  'upload-too-large',
  'no-download-url',
  'image-too-large',
  'image-too-complex',
  'file-busy',
  'overloaded',
  'shutting-down',
]);

/** The message of all other errors of a code or kind, which can contain names and settings of the store. */
const GENERAL_MESSAGES: Readonly<Record<string, string>> = {
  'too-large-for-store': 'The file is too large for the store.',
  'path-too-long': 'The path is too long.',
  'invalid-cursor': 'The cursor is not from a listing of this folder. List the folder again from the beginning.',
  locked: 'A lock protects the file or folder at the moment. Try again later.',
  unavailable: 'The files are unavailable at the moment. Try again later.',
  denied: 'The store refuses access.',
};

/** Returns an error without anything outside the shared folder. */
export function relativeError(error: StoreError, folder: FolderPath): StoreError {
  const { code, kind, retryAfter } = error;
  const message =
    (PATH_ERRORS.has(code) ? relativeMessage(error.message, folder) : undefined) ??
    GENERAL_MESSAGES[code] ??
    GENERAL_MESSAGES[kind] ??
    'The request is not possible for this file or folder.';
  return new StoreError(code, message, { cause: error, ...(retryAfter !== undefined && { retryAfter }) });
}

/** Returns an error that names `path` instead of any other path. */
export function namingOnly(error: StoreError, path: FilePath): StoreError {
  const { code, retryAfter } = error;
  const message = error.message.replaceAll(QUOTED, () => quoted(path));
  return new StoreError(code, message, { cause: error, ...(retryAfter !== undefined && { retryAfter }) });
}

/** Matches a text as `quoted` returns it. */
const QUOTED = /"[^"\\]*(?:\\.[^"\\]*)*"?/gs;

/**
 * Returns a message with relative paths; undefined if it names anything outside the folder. Messages contain paths only
 * as `quoted` returns them.
 */
function relativeMessage(message: string, folder: FolderPath): string | undefined {
  if (folder === ROOT) return message;
  const prefix = quoted(folder).slice(0, -1);
  const parents = foldersAbove(folder);
  let isOutside = false;
  const relative = message.replaceAll(QUOTED, (text) => {
    if (text.startsWith(prefix)) return `"${text.slice(prefix.length)}`;
    // The path of a parent folder, or of the folder itself without its slash. A long path is shortened.
    isOutside ||= text.includes('…') || parents.has(text);
    return text;
  });
  return isOutside ? undefined : relative;
}

/** Returns the paths of a folder and its parents, quoted, with and without the slash. */
function foldersAbove(folder: FolderPath): ReadonlySet<string> {
  const paths = new Set<string>(['""', '"/"']);
  for (let slash = folder.indexOf('/'); slash !== -1; slash = folder.indexOf('/', slash + 1)) {
    paths.add(quoted(folder.slice(0, slash)));
    paths.add(quoted(folder.slice(0, slash + 1)));
  }
  return paths;
}
