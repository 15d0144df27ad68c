import { batch } from '@preact/signals';
import { nameOf, parentOf, splitName } from '../../platform/paths.ts';
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
  /** The path that the entry has while another one gets its name; undefined if no entries exchange their names. */
  readonly temporaryPath: string | undefined;
  readonly destination: string;
  readonly size: number | undefined;
}

/** The maximum number of failures that a message names. */
const MAX_NAMED = 5;

/**
 * Renames several entries of one folder. A name that another one of them has is free when that one is renamed. Of entries that
 * exchange their names, the first one has a temporary name meanwhile. They are undone together.
 */
export function renameSeveral(context: RenameContext, newNames: readonly NewName[]): Promise<void> {
  return context.trackChange((offerUndo) => renameAll({ ...context, offerUndo }, newNames));
}

async function renameAll(context: RenameContext, newNames: readonly NewName[]): Promise<void> {
  const { folder, clipboard, operations, messages, language } = context;
  const { text } = language.value;
  const items = inOrder(newNames).map(({ rename: { entry, name }, isExchange }): RenamedItem => {
    const size = entry.type === 'file' ? entry.size : undefined;
    const temporaryPath = isExchange ? pathWithName(entry, temporaryName(entry)) : undefined;
    return { entry, name, path: entry.path, destination: pathWithName(entry, name), size, temporaryPath };
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
    paths: {
      written: items.flatMap(({ path, destination, temporaryPath }) => [path, destination, temporaryPath ?? path]),
    },
    work: afterOthers(context, items),
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

  // In the order of the changes: a temporary name first, and what replaces it last.
  const undoable = [
    ...done.flatMap(({ item: { path }, result: { temporary } }) =>
      temporary ? [{ change: temporary.change, path, removed: [], added: [] }] : [],
    ),
    ...done
      .toSorted(
        (one, other) => Number(one.result.temporary !== undefined) - Number(other.result.temporary !== undefined),
      )
      .map(({ item: { path, entry }, result }) => ({
        change: result.change,
        path: result.path,
        removed: [result.path],
        added: [{ ...entry, path }],
      })),
  ];
  if (done.length > 0) {
    const said = text.changes.renamedSeveral({ count: done.length, all: items.length });
    messages.show({ kind: 'done', text: said, action: context.offerUndo(undoable, said) });
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

/** The path of an entry after its rename, and its change of the name before, if it had a temporary name. */
interface RenamedPath extends ChangedPath {
  readonly temporary?: ChangedPath;
}

/** Returns work that waits until the entry that has the new name was renamed. */
function afterOthers(context: RenameContext, items: readonly RenamedItem[]) {
  const owners = new Map(items.map((item) => [item.path, item]));
  /** Resolve when the entry does not have its old name any longer, or keeps it. */
  const released = new Map(items.map((item) => [item, Promise.withResolvers<void>()]));
  return async (item: RenamedItem, options: ItemContext): Promise<RenamedPath> => {
    const { path, destination, temporaryPath } = item;
    const owner = owners.get(destination);
    const isFree = owner && owner !== item ? released.get(owner)?.promise : undefined;
    const release = () => released.get(item)?.resolve();
    try {
      if (temporaryPath === undefined) {
        await isFree;
        return await send(context, path, destination, options);
      }
      const temporary = await send(context, path, temporaryPath, options);
      release();
      await isFree;
      try {
        return { ...(await send(context, temporaryPath, destination, options)), temporary };
      } catch (error) {
        // The others may have failed, so that the old name is free again. Otherwise, the entry keeps the temporary name.
        await send(context, temporaryPath, path, options).catch(() => {});
        throw error;
      }
    } finally {
      release();
    }
  };
}

async function send(
  context: RenameContext,
  path: string,
  destination: string,
  options: ItemContext,
): Promise<ChangedPath> {
  try {
    return await context.service.rename(path, nameOf(destination), options);
  } catch (error) {
    if (await hasRenamed(context, { path, destination, error })) return { path: destination };
    throw error;
  }
}

/** Returns a name that no other entry has, with the same extension. */
function temporaryName({ name, type }: Entry): string {
  const extension = type === 'file' ? splitName(name).extension : '';
  return `renaming-${crypto.randomUUID().slice(0, 8)}${extension}`;
}

function pathWithName({ path, type }: Entry, name: string): string {
  return `${parentOf(path)}${name}${type === 'folder' ? '/' : ''}`;
}
