import { nameOf, parentOf } from '../../../web/src/paths.ts';
import type { Entry, Service } from '../../../web/src/service/service.ts';
import { ServiceError } from '../../../web/src/service/service-error.ts';

/** Returns a service that keeps files in memory, and its files by path. Supports what uploads use. */
export function createMemoryService(initial: Readonly<Record<string, string>>): {
  service: Service;
  files: Map<string, string>;
} {
  const files = new Map(Object.entries(initial));
  const times = new Map<string, string>();
  const isFolder = (path: string) => [...files.keys()].some((key) => key.startsWith(path));
  const service: Service = {
    async list(prefix) {
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
      if (isFolder(`${path}/`)) throw new ServiceError(409, `"${path}" is a folder.`, undefined, true);
      if (!replace && files.has(path)) throw new ServiceError(412, 'There is a file of this name.', undefined, true);
      files.set(path, await file.text());
      times.set(path, new Date().toISOString());
      files.delete(parentOf(path));
      return { path, etag: `"${files.get(path)}"` };
    },
    async createFolder(path) {
      if (!isFolder(path)) files.set(path, '');
    },
    async remove(path) {
      for (const key of files.keys())
        if (key === path || (path.endsWith('/') && key.startsWith(path))) files.delete(key);
    },
    rename: () => Promise.reject(new Error('Not supported.')),
    transfer: () => Promise.reject(new Error('Not supported.')),
    read: () => Promise.reject(new Error('Not supported.')),
    check: () => Promise.reject(new Error('Not supported.')),
  };
  return { service, files };
}
