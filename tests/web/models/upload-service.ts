import assert from 'node:assert/strict';
import { nameOf, parentOf } from '../../../web/src/platform/paths.ts';
import type { ChangeService } from '../../../web/src/platform/service/file-operations.ts';
import type { Changed, Entry } from '../../../web/src/platform/service/service.ts';
import { refusal } from './service-errors.ts';

/** The stored files before and after a change. */
interface RecordedChange {
  readonly before: ReadonlyMap<string, string>;
  readonly after: ReadonlyMap<string, string>;
  /** Called before the change is undone. Throws if it can't be. */
  readonly onUndo: () => void;
}

/** Makes a change, and returns its result with an ID for `-/undo`. */
export type RecordChange = <Result extends object>(
  work: () => Result,
  onUndo?: () => void,
) => Result & Required<Changed>;

/**
 * Returns a service that keeps files in memory, and its files by path. Supports all members except `read` and `operate`;
 * `send` supports only `-/undo`.
 */
export function createMemoryService(initial: Readonly<Record<string, string>>): {
  service: ChangeService;
  files: Map<string, string>;
  record: RecordChange;
} {
  const files = new Map(Object.entries(initial));
  const recorded = new Map<string, RecordedChange>();
  const undone = new Set<string>();
  const record: RecordChange = (work, onUndo = () => {}) => {
    const before = new Map(files);
    const result = work();
    const change = `change-${recorded.size + 1}`;
    recorded.set(change, { before, after: new Map(files), onUndo });
    return { ...result, change };
  };
  const undo = (id: string) => {
    const change = recorded.get(id) ?? missing(id);
    if (undone.has(id)) throw refusal('already-undone', 'The change is already undone.');
    const { before, after, onUndo } = change;
    const paths = new Set([...before.keys(), ...after.keys()]);
    const changed = [...paths].filter((path) => before.get(path) !== after.get(path));
    if (changed.some((path) => files.get(path) !== after.get(path))) {
      throw refusal('not-undoable', 'The file has changed since.');
    }
    onUndo();
    return record(() => {
      for (const path of changed) {
        const content = before.get(path);
        if (content === undefined) files.delete(path);
        else files.set(path, content);
      }
      undone.add(id);
      return { success: true };
    });
  };
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
      const content = await file.text();
      return record(() => {
        files.set(path, content);
        times.set(path, new Date().toISOString());
        files.delete(parentOf(path));
        return { path, etag: `"${content}"` };
      });
    },
    async createFolder(path) {
      return record(() => {
        if (!isFolder(path)) files.set(path, '');
        return {};
      });
    },
    async remove(path) {
      return record(() => {
        for (const key of pathsAt(path)) files.delete(key);
        return {};
      });
    },
    async rename(path, newName, { overwrite = false } = {}) {
      const destination = `${parentOf(path)}${newName}${path.endsWith('/') ? '/' : ''}`;
      return record(() => {
        put(path, destination, { overwrite, keeps: false });
        return { path: destination };
      });
    },
    async transfer(kind, source, destination, { overwrite = false } = {}) {
      return record(() => {
        put(source, destination, { overwrite, keeps: kind === 'copy' });
        return {};
      });
    },
    read: () => Promise.reject(new Error('Not supported.')),
    async check(path) {
      if (!files.has(path)) throw refusal('not-found', `There is no file "${path}".`);
    },
    async send<Body>(endpoint: string, options: Parameters<ChangeService['send']>[1] = {}) {
      assert.equal(endpoint, '-/undo');
      const { change } = options.body as { change: string };
      return undo(change) as Body;
    },
    operate: () => Promise.reject(new Error('Not supported.')),
  };
  return { service, files, record };
}

function missing(id: string): never {
  throw refusal('change-not-found', `The change "${id}" does not exist.`);
}

const isBelow = (path: string, folder: string) => folder.endsWith('/') && path.startsWith(folder);
