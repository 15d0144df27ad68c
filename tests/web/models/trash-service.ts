import type { ChangeService } from '../../../web/src/platform/service/file-operations.ts';
import type { TrashedItem } from '../../../web/src/platform/service/trash.ts';
import { refusal } from './service-errors.ts';
import { createMemoryService, type RecordChange } from './upload-service.ts';

/** The items that the pages of `createTrashService` contain. */
const PAGE_ITEMS = 2;

/** An item in the trash, with its files by their paths. */
interface Kept extends TrashedItem {
  readonly files: ReadonlyMap<string, string>;
}

/** Adds a trash to a service in memory: `remove` moves to it, `send` lists its items, and `operate` restores and deletes them. */
export function withTrash(
  service: ChangeService,
  files: Map<string, string>,
  record: RecordChange,
): ChangeService & { readonly trash: readonly Kept[] } {
  const trash: Kept[] = [];
  const take = (id: string): Kept => {
    const index = trash.findIndex((item) => item.id === id);
    const [taken] = index < 0 ? [] : trash.splice(index, 1);
    if (!taken) throw refusal('not-found', `The trash has no item "${id}".`);
    return taken;
  };
  const restore = (id: string) => {
    const item = take(id);
    const name = item.path.replace(/\/$/, '');
    const isTaken = [...files.keys()].some((path) => path === name || path.startsWith(`${name}/`));
    const path = isTaken ? item.path.replace(/(\.[^./]*|\/)?$/, ' (2)$1') : item.path;
    for (const [file, content] of item.files) files.set(path + file.slice(item.path.length), content);
    return path;
  };
  let lastId = 0;

  const remove: ChangeService['remove'] = async (path, { permanent = false } = {}) => {
    const removed = new Map(
      [...files].filter(([file]) => file === path || (path.endsWith('/') && file.startsWith(path))),
    );
    const id = String(++lastId);
    const type = path.endsWith('/') ? 'folder' : 'file';
    const takeBack = () => {
      if (!trash.some((item) => item.id === id)) throw refusal('not-undoable', 'It is no longer in the trash.');
      take(id);
    };
    return record(() => {
      for (const file of removed.keys()) files.delete(file);
      if (!permanent) trash.unshift({ id, type, path, deletedAt: '2026-01-01T00:00:00.000Z', files: removed });
      return {};
    }, takeBack);
  };
  const answer = (endpoint: string, { method = 'GET', query }: NonNullable<Parameters<ChangeService['send']>[1]>) => {
    const [, , id = ''] = endpoint.split('/');
    if (method === 'POST') return record(() => ({ path: restore(id) }));
    if (method === 'DELETE' && id === '') return { removed: trash.splice(0).length };
    if (method === 'DELETE') return take(id);
    const parameters = new URLSearchParams(query);
    const items = trash.filter(({ path }) => path.startsWith(parameters.get('folder') ?? ''));
    const start = items.findIndex((item) => item.id === parameters.get('cursor')) + 1;
    const entries = items.slice(start, start + PAGE_ITEMS);
    return { entries, cursor: start + PAGE_ITEMS < items.length ? entries.at(-1)?.id : undefined };
  };
  const send: ChangeService['send'] = async <Body>(endpoint: string, options = {}) =>
    endpoint === '-/undo' ? service.send<Body>(endpoint, options) : (answer(endpoint, options) as Body);
  return { ...service, remove, send, operate: send, trash };
}

/** Returns a service with a trash, and its stored files by path. */
export function createTrashService(initial: Readonly<Record<string, string>>) {
  const { service, files, record } = createMemoryService(initial);
  return { service: withTrash(service, files, record), files };
}
