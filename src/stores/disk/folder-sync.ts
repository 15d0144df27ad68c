import type { Calls } from './calls.ts';

/** Makes what was done before to the names of an open folder survive a loss of power. */
export type SyncFolder = (folder: number) => Promise<void>;

/**
 * Syncs folders, each once for all who want it at the same time: a sync that begins after a change covers it, and so
 * whoever comes while one is under way shares the next with all who come until that begins. One that fails, fails for all
 * of them.
 */
export function createFolderSync(calls: Pick<Calls, 'statOpen' | 'syncFolder'>): SyncFolder {
  const underWay = new Map<string, { readonly current: Promise<void>; next?: Promise<void> }>();

  const begin = (folder: number, key: string): Promise<void> => {
    const turn: { readonly current: Promise<void>; next?: Promise<void> } = { current: calls.syncFolder(folder) };
    underWay.set(key, turn);
    const end = () => {
      if (!turn.next) underWay.delete(key);
    };
    turn.current.then(end, end);
    return turn.current;
  };

  return async (folder) => {
    const { dev, ino } = await calls.statOpen(folder);
    const key = `${dev} ${ino}`;
    const turn = underWay.get(key);
    if (!turn) return begin(folder, key);
    // Whoever waits has the folder open until the sync has ended.
    turn.next ??= turn.current.catch(() => {}).then(() => begin(folder, key));
    return turn.next;
  };
}
