import { batch } from '@preact/signals';
import { parentOf } from '../../platform/paths.ts';
import type { ChangedPath, Entry } from '../../platform/service/service.ts';
import { inOrder } from '../rename/rename-plan.ts';
import { entryAt, pendingEntryAt, remapPaths } from './change-context.ts';
import { subjectOf } from './change-texts.ts';
import type { ItemContext } from './operations.ts';
import { hasRenamed, type RenameContext } from './rename.ts';

/** An entry and its new name. */
export interface NewName {
  readonly entry: Entry;
  readonly name: string;
}

interface RenamedItem extends NewName {
  readonly path: string;
  readonly destination: string;
  readonly size: number | undefined;
}

/** The maximum number of failures that a message names. */
const MAX_NAMED = 5;

/**
 * Renames several entries of one folder. A name that another one of them has is free when that one is renamed. They are undone
 * together.
 */
export async function renameSeveral(context: RenameContext, newNames: readonly NewName[]): Promise<void> {
  const { folder, clipboard, operations, messages, language } = context;
  const { text } = language.value;
  const items = (inOrder(newNames) ?? []).map(({ entry, name }): RenamedItem => {
    const destination = `${parentOf(entry.path)}${name}${entry.type === 'folder' ? '/' : ''}`;
    return { entry, name, path: entry.path, destination, size: entry.type === 'file' ? entry.size : undefined };
  });
  if (items.length === 0) return;
  const pending = batch(() => {
    remapPaths(context, new Map(items.map(({ path, destination }) => [path, destination])));
    return items.map(({ path, destination, entry }) =>
      folder.begin({ removed: [path], added: [pendingEntryAt(destination, entry)] }),
    );
  });
  const { done, failed, interrupted, notStarted } = await operations.perform(items, {
    title: text.changes.renamingSeveral({ count: items.length }),
    paths: { written: items.flatMap(({ path, destination }) => [path, destination]) },
    work: afterOthers(items, (item, options) => send(context, item, options)),
  });
  const others = [...failed.map(({ item }) => item), ...interrupted, ...notStarted];
  batch(() => {
    remapPaths(context, new Map(others.map(({ path, destination }) => [destination, path])));
    for (const { item, result } of done) {
      folder.apply({ removed: [item.path], added: [entryAt(result.path, item.entry)] });
    }
    clipboard.remapPaths(new Map(done.map(({ item, result }) => [item.path, result.path])));
    for (const change of pending) change.rollback();
  });
  const [first] = items;
  if (first)
    context.refresh(
      [parentOf(first.path)],
      items.map(({ path }) => path),
    );

  const undoable = done.map(({ item: { path, entry }, result }) => ({
    change: result.change,
    path: result.path,
    removed: [result.path],
    added: [{ ...entry, path }],
  }));
  const action = undoable.length > 0 ? context.offerUndo(undoable) : undefined;
  if (done.length > 0) {
    messages.show({
      kind: 'done',
      text: text.changes.renamedSeveral({ count: done.length, all: items.length }),
      action,
    });
  }
  if (failed.length === 0) return;
  const { reasonOf } = language.value;
  const named = failed
    .slice(0, MAX_NAMED)
    .map(({ item, error }) => text.changes.reasonFor({ name: item.entry.name, reason: reasonOf(error) }));
  const more = failed.length - named.length;
  messages.show({
    kind: 'error',
    text: text.changes.notRenamedSeveral(subjectOf(failed.map(({ item }) => item.path))),
    detail: [...named, ...(more > 0 ? [text.changes.more({ count: more })] : [])].join('\n'),
  });
}

type Work = (item: RenamedItem, options: ItemContext) => Promise<ChangedPath>;

/** Returns work that waits until the entry that has the new name was renamed. That entry comes earlier in the list. */
function afterOthers(items: readonly RenamedItem[], work: Work): Work {
  const owners = new Map(items.map((item) => [item.path, item]));
  const settled = new Map<RenamedItem, Promise<unknown>>();
  return (item, options) => {
    const owner = owners.get(item.destination);
    const before = owner && owner !== item ? settled.get(owner) : undefined;
    const working = Promise.resolve(before).then(() => work(item, options));
    settled.set(
      item,
      working.catch(() => {}),
    );
    return working;
  };
}

async function send(context: RenameContext, item: RenamedItem, options: ItemContext): Promise<ChangedPath> {
  const { path, name, destination } = item;
  try {
    return await context.service.rename(path, name, options);
  } catch (error) {
    if (await hasRenamed(context, { path, destination, error })) return { path: destination };
    throw error;
  }
}
