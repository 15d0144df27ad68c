import type { FastifyRequest } from 'fastify';
import type { GuardedFiles } from '../../access/guard.ts';
import { isStoreError, quoted } from '../../model/error.ts';
import { encodePath, type FilePath, type FolderPath, parseFile, parseFolder, ROOT } from '../../model/path.ts';
import type { Entry, FileEntry } from '../../model/store.ts';
import { hostNameOf } from '../access/request-origin.ts';
import { DavError } from './dav-error.ts';

/** The route of WebDAV. */
export const DAV_ROUTE = '/-/dav';

/** What a URL can name. */
export interface Target {
  /** Undefined for the root, and for a URL with a trailing slash, which names a folder. */
  readonly file: FilePath | undefined;
  readonly folder: FolderPath;
}

/** Returns the target of a decoded path below the route. Throws `invalid-path`. */
export function parseTarget(path: string): Target {
  const folder = parseFolder(path);
  return { folder, file: folder === ROOT || path.endsWith('/') ? undefined : parseFile(path) };
}

/** Returns the path of a target, with that of a file if it can name one. */
export const pathOf = ({ file, folder }: Target): FilePath | FolderPath => file ?? folder;

/** Returns the file or folder that a target names; undefined if neither exists. A file comes before a folder of the same name. */
export async function findEntry(files: GuardedFiles, target: Target): Promise<Entry | undefined> {
  const file = target.file === undefined || canOnlyList(files, target) ? undefined : await findFile(files, target.file);
  return file ?? ((await files.folderExists(target.folder)) ? { kind: 'folder', path: target.folder } : undefined);
}

/**
 * Returns whether a target can only name a folder for the user: they have permissions in the folder or below it, but none for a
 * file of its name. Clients omit the trailing slash of folders, also of one to which a grant or an app token is limited.
 */
export function canOnlyList(files: GuardedFiles, { file, folder }: Target): boolean {
  if (file === undefined || files.canRead(file)) return false;
  return files.canRead(folder) || (files.canList(folder) && !files.hasPermission(file));
}

/** Returns whether the user may read a file or the folder that the target names. */
export function canFind(files: GuardedFiles, { file, folder }: Target): boolean {
  return (file !== undefined && files.canRead(file)) || files.canRead(folder);
}

/** Returns a file; undefined if it does not exist. */
export async function findFile(files: GuardedFiles, file: FilePath): Promise<FileEntry | undefined> {
  try {
    return await files.stat(file);
  } catch (error) {
    if (isStoreError(error, 'not-found') || isStoreError(error, 'wrong-kind')) return undefined;
    throw error;
  }
}

/** Returns the file or folder that a target names. Throws 404 if neither exists. */
export async function requireEntry(files: GuardedFiles, target: Target): Promise<Entry> {
  const entry = await findEntry(files, target);
  if (entry) return entry;
  throw new DavError(404, `There is no file or folder ${quoted(pathOf(target))}.`);
}

/** The URLs of WebDAV. */
export class DavUrls {
  readonly #publicPath: string;
  readonly #paths: readonly string[];
  readonly #publicHost: string | undefined;

  /** `publicPath`: see `publicPathOf`. */
  constructor({
    publicUrl,
    basePath,
    publicPath,
  }: {
    readonly publicUrl: string | undefined;
    readonly basePath: string;
    readonly publicPath: string;
  }) {
    this.#publicPath = publicPath + DAV_ROUTE;
    // A proxy can remove a path from the URL of the request, but not from the other URLs in its headers.
    this.#paths = [...new Set([this.#publicPath, basePath + DAV_ROUTE])];
    this.#publicHost = publicUrl === undefined ? undefined : new URL(publicUrl).host;
  }

  /** Returns the URL path of a file or folder. */
  hrefOf(path: string): string {
    return `${this.#publicPath}/${encodePath(path)}`;
  }

  /**
   * Returns the target of an absolute URL or of an absolute path. Returns undefined for a URL of another server, and for a path
   * outside of WebDAV. Throws 400 for a path that is not valid.
   */
  parse(text: string, { host }: Pick<FastifyRequest, 'host'>): Target | undefined {
    const path = this.#ownPath(text, host);
    const prefix = this.#paths.find((each) => path === each || path?.startsWith(`${each}/`));
    if (path === undefined || prefix === undefined) return undefined;
    if (/[?#]/.test(path)) throw new DavError(400, `The URL path ${quoted(path)} has a query or a fragment.`);
    return parseTarget(decode(path.slice(prefix.length + 1)));
  }

  /**
   * Returns the path of a URL of this server. Compares the host only, because a proxy that terminates TLS turns `https` into
   * `http`.
   */
  #ownPath(text: string, host: string): string | undefined {
    if (text.startsWith('/')) return text.startsWith('//') ? undefined : text;
    const [, authority, path = '/'] = /^https?:\/\/([^/?#]+)(\/.*)?$/is.exec(text) ?? [];
    if (authority === undefined) return undefined;
    const isSame = (other: string | undefined) => other !== undefined && sameHost(authority, other);
    return isSame(host) || isSame(this.#publicHost) ? path : undefined;
  }
}

/** Compares two hosts. A missing port is a default port. */
function sameHost(left: string, right: string): boolean {
  const portOf = (host: string) => /:(\d+)$/.exec(host)?.[1];
  const isDefault = (port: string | undefined) => port === undefined || port === '80' || port === '443';
  const [leftPort, rightPort] = [portOf(left), portOf(right)];
  const isSamePort = leftPort === rightPort || (isDefault(leftPort) && isDefault(rightPort));
  return isSamePort && hostNameOf(left) === hostNameOf(right);
}

/** Decodes a URL path of a header. Node.js returns each byte as a character, and some clients escape only some characters. */
function decode(path: string): string {
  try {
    return decodeURIComponent(path.replaceAll(/[\u0080-\u00ff]/g, encodeByte));
  } catch {
    throw new DavError(400, `The URL path ${quoted(path)} has bytes or percent escapes that are not UTF-8.`);
  }
}

const encodeByte = (character: string) => `%${character.charCodeAt(0).toString(16)}`;
