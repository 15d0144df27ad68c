import { nameOf, parentOf } from '../../../web/src/platform/paths.ts';
import type { ChangeService } from '../../../web/src/platform/service/file-operations.ts';
import type { Entry } from '../../../web/src/platform/service/service.ts';
import { refusal } from './service-errors.ts';

/** Returns a service that keeps files in memory, and its files by path. Supports all members except `read`, `send` and `operate`. */
export function createMemoryService(initial: Readonly<Record<string, string>>): {
  service: ChangeService;
  files: Map<string, string>;
} {
  const files = new Map(Object.entries(initial));
  const times = new Map<string, string>();
  const isFolder = (path: string) => [...files.keys()].some((key) => key.startsWith(path));
  const pathsAt = (path: string) => [...files.keys()].filter((key) => key === path || isBelow(key, path));
  const isTaken = (path: string) => {
    const name = path.replace(/\/$/, '');
    return files.has(name) || isFolder(`${name}/`);
  };
  const put = (source: string, destination: string, { overwrite, keeps }: { overwrite: boolean; keeps: boolean }) => {
    const paths = pathsAt(source);
    if (paths.length === 0) throw refusal('not-found', `There is no file "${source}".`);
    if (isTaken(destination) && !overwrite) throw refusal('already-exists', `"${destination}" exists.`);
    for (const path of pathsAt(destination)) files.delete(path);
    for (const path of paths) {
      const copy = destination + path.slice(source.length);
      files.set(copy, files.get(path) ?? '');
      times.set(copy, new Date().toISOString());
      if (!keeps) files.delete(path);
    }
  };
  const service: ChangeService = {
    async list(prefix) {
      if (prefix !== '' && !isFolder(prefix)) throw refusal('not-found', 'No such folder.');
      const entries = new Map<string, Entry>();
      for (const [path, content] of files) {
        if (!path.startsWith(prefix) || path === prefix) continue;
        const slash = path.indexOf('/', prefix.length);
        if (slash >= 0) {
          const folder = path.slice(0, slash + 1);
          entries.set(folder, { type: 'folder', path: folder, name: nameOf(folder) });
        } else {
          entries.set(path, {
            type: 'file',
            path,
            name: nameOf(path),
            size: content.length,
            modified: times.get(path) ?? '2026-01-01T00:00:00.000Z',
            contentType: 'application/octet-stream',
            etag: `"${content}"`,
          });
        }
      }
      return { success: true, prefix, entries: [...entries.values()] };
    },
    async upload({ folder, name, file, replace }) {
      const path = folder + name;
      if (isFolder(`${path}/`)) throw refusal('wrong-kind', `"${path}" is a folder.`);
      if (!replace && files.has(path)) throw refusal('name-taken', 'There is a file of this name.');
      files.set(path, await file.text());
      times.set(path, new Date().toISOString());
      files.delete(parentOf(path));
      return { path, etag: `"${files.get(path)}"` };
    },
    async createFolder(path) {
      if (!isFolder(path)) files.set(path, '');
    },
    async remove(path) {
      for (const key of pathsAt(path)) files.delete(key);
    },
    async rename(path, newName, { overwrite = false } = {}) {
      const destination = `${parentOf(path)}${newName}${path.endsWith('/') ? '/' : ''}`;
      put(path, destination, { overwrite, keeps: false });
      return destination;
    },
    async transfer(kind, source, destination, { overwrite = false } = {}) {
      put(source, destination, { overwrite, keeps: kind === 'copy' });
    },
    read: () => Promise.reject(new Error('Not supported.')),
    async check(path) {
      if (!files.has(path)) throw refusal('not-found', `There is no file "${path}".`);
    },
    send: () => Promise.reject(new Error('Not supported.')),
    operate: () => Promise.reject(new Error('Not supported.')),
  };
  return { service, files };
}

const isBelow = (path: string, folder: string) => folder.endsWith('/') && path.startsWith(folder);
