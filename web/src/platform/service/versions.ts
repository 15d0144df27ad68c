import type { VersionList } from '../../../../src/http/schemas.ts';
import type { Changed, Service } from './service.ts';
import { escapePath, type Urls } from './urls.ts';

/*
 * The versions of files in the HTTP API. Functions that return a promise throw `ServiceError`, or the `AbortError` of their
 * signal.
 */

export type VersionPage = VersionList;
/** An earlier content of a path. */
export type FileVersion = VersionList['versions'][number];

type Sender = Pick<Service, 'send'>;

/** Returns a page of the versions of a file, the most recently replaced first. */
export function listVersions(
  service: Sender,
  path: string,
  { cursor, limit, signal }: { cursor?: string | undefined; limit?: number; signal?: AbortSignal } = {},
): Promise<VersionPage> {
  const query = { ...(cursor !== undefined && { cursor }), ...(limit !== undefined && { limit: String(limit) }) };
  return service.send(`-/versions/${escapePath(path)}`, { query, signal });
}

/** Makes a version the current content. The content that it replaces becomes a version. */
export function restoreVersion(service: Sender, path: string, version: string): Promise<Changed> {
  return service.send(`-/versions/${escapePath(path)}`, { method: 'POST', body: { version } });
}

/** Deletes all versions of a file permanently. Its current content stays. */
export function deleteVersions(service: Sender, path: string): Promise<unknown> {
  return service.send(`-/versions/${escapePath(path)}`, { method: 'DELETE' });
}

/** Returns the URL of the content of a version. With `isDownload`, the browser saves it. */
export function versionUrl(urls: Urls, path: string, version: string, isDownload: boolean): string {
  return urls.endpoint(`file/${escapePath(path)}`, { version, ...(isDownload && { download: '1' }) });
}
