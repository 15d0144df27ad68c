import { signal } from '@preact/signals';
import type { Draft } from '../../../web/src/model/changes/rename.ts';
import { type Clipboard, createClipboard } from '../../../web/src/model/clipboard.ts';
import { FolderFollower } from '../../../web/src/model/feed/folder-follower.ts';
import { createFolder, type Folder } from '../../../web/src/model/folder/folder.ts';
import { createSelection, type Selection } from '../../../web/src/model/selection.ts';
import { isWithin, parentOf } from '../../../web/src/platform/paths.ts';
import type { Order } from '../../../web/src/platform/preferences.ts';
import type { Route } from '../../../web/src/platform/router.ts';
import type { FeedChange } from '../../../web/src/platform/service/changes.ts';
import type { Entry, Listing, Service } from '../../../web/src/platform/service/service.ts';
import { createEnglish } from './languages.ts';
import { createMemoryService } from './upload-service.ts';

export interface FeedSceneOptions {
  /** The stored files by path; a path that ends with "/" is an empty folder. */
  readonly files?: Readonly<Record<string, string>>;
  readonly shown?: string;
  readonly order?: Order;
  /** Replaces members of the service. */
  readonly override?: (service: Service) => Partial<Service>;
  /** Replaces the result of a request for named entries. */
  readonly onRead?: (entries: readonly Entry[]) => Promise<readonly Entry[]>;
}

/** A shown folder that follows the changes of another client, on a service in memory. */
export interface FeedScene {
  readonly folder: Folder;
  readonly selection: Selection;
  readonly clipboard: Clipboard;
  readonly renaming: { value: string | null };
  readonly route: { value: Route };
  readonly follower: FolderFollower;
  /** The stored files by path. */
  readonly stored: Map<string, string>;
  /** The numbers of requests for named entries and for listings, except the first. */
  readonly requests: { named: number; listings: number };
  /** Writes a file as another client, and passes the change to the follower. */
  write(path: string, content: string): void;
  remove(path: string): void;
  move(from: string, to: string): void;
  receive(change: Omit<FeedChange, 'id' | 'time'>): void;
  /** The names of the shown entries, from top to bottom. */
  shown(): readonly string[];
}

/** Short, because the service responds at once. */
const TIMING = { gather: 1, interval: 1, busyInterval: 2, perEntry: 0, retry: 2 };

export async function createFeedScene(options: FeedSceneOptions = {}): Promise<FeedScene> {
  const { files = {}, shown = '', order = { by: 'name', descending: false }, onRead, override = () => ({}) } = options;
  const memory = createMemoryService(files);
  const requests = { named: 0, listings: 0 };
  const readNamed = async (query: URLSearchParams): Promise<Listing> => {
    requests.named++;
    const prefix = query.get('prefix') ?? '';
    const listed = await memory.service.list(prefix);
    const found = query.getAll('name').flatMap((name) => listed.entries.filter(({ path }) => path === prefix + name));
    return { ...listed, entries: onRead ? [...(await onRead(found))] : found };
  };
  const service: Service = {
    ...memory.service,
    list(...parameters) {
      requests.listings++;
      return memory.service.list(...parameters);
    },
    send: async <Body>(_endpoint: string, { query }: Parameters<Service['send']>[1] = {}) =>
      (await readNamed(query as URLSearchParams)) as Body,
    ...override(memory.service),
  };
  const language = await createEnglish();
  const compareNames = signal(language.value.formats.compareNames);
  const response = await memory.service.list(shown);
  const folder = createFolder(service, { order: signal(order), compareNames }, { path: shown, response });
  const selection = createSelection(folder);
  const clipboard = createClipboard();
  const renaming = signal<string | null>(null);
  const route = signal<Route>({ folder: shown, preview: null });
  const go = (next: Route) => {
    route.value = next;
  };
  const changes = { renaming, draft: signal<Draft | null>(null) };
  const follower = new FolderFollower({
    service,
    folder,
    selection,
    clipboard,
    changes,
    router: { route, go },
    timing: TIMING,
  });
  let last = 0;
  const receive: FeedScene['receive'] = (change) =>
    follower.receive({ ...change, id: String(++last), time: '2026-01-01T00:00:00.000Z' });
  const kindOf = (path: string) => (path.endsWith('/') ? 'folder' : 'file');
  const { files: stored } = memory;

  return {
    folder,
    selection,
    clipboard,
    renaming,
    route,
    follower,
    stored,
    requests,
    write(path, content) {
      const type = stored.has(path) ? 'file.replaced' : 'file.created';
      stored.set(path, content);
      stored.delete(parentOf(path));
      receive({ type, path, size: content.length, etag: `"${content}"` });
    },
    remove(path) {
      for (const key of stored.keys()) if (isWithin(key, path)) stored.delete(key);
      receive({ type: `${kindOf(path)}.deleted`, path });
    },
    move(from, to) {
      for (const [key, content] of new Map(stored)) {
        if (!isWithin(key, from)) continue;
        stored.delete(key);
        stored.set(to + key.slice(from.length), content);
      }
      receive({ type: `${kindOf(from)}.moved`, path: to, from });
    },
    receive,
    shown: () => folder.entries.value.map(({ name }) => name),
  };
}
