import { batch } from '@preact/signals';
import { nameOf, parentOf } from '../../platform/paths.ts';
import { folderEntry } from '../../platform/service/pages.ts';
import { asServiceError } from '../../platform/service/service-error.ts';
import type { ChangeContext } from './change-context.ts';

/** Asks for a name, and creates a folder in the shown folder. */
export async function createNamedFolder(context: ChangeContext): Promise<void> {
  const { folder, selection, prompts } = context;
  const { value: parent } = folder.path;
  const isTaken = (name: string) => [name, `${name}/`].some((end) => folder.entryOf(parent + end) !== undefined);
  const name = await prompts.promptName({ folder: parent, isTaken });
  if (name === null) return;
  const path = `${parent}${name}/`;
  const creating = batch(() => {
    const created = createFolder(context, path);
    if (folder.path.value === parent) {
      folder.focused.value = path;
      selection.only(path);
    }
    return created;
  });
  await creating;
}

/** Creates a folder. Resolves to whether that succeeded. */
export function createFolder(context: ChangeContext, path: string): Promise<boolean> {
  return context.trackChange((offerUndo) => create({ ...context, offerUndo }, path));
}

async function create(context: ChangeContext, path: string): Promise<boolean> {
  const { service, folder, messages, pathLocks, dependencyError, permissions, language } = context;
  const pending = folder.begin({ added: [folderEntry(path)] });
  try {
    const { change } = await pathLocks.withLock({ written: [path] }, async ({ isUncertain }) => {
      if (isUncertain(path)) throw dependencyError();
      return service.createFolder(path);
    });
    pending.commit();
    // Undoing it deletes the folder.
    const said = language.value.text.changes.created({ name: nameOf(path) });
    if (permissions.allowsIn(parentOf(path), 'manage')) {
      context.offerUndo([{ change, path, removed: [path], added: [] }], said);
    }
    messages.announce(said);
    return true;
  } catch (error) {
    pending.rollback();
    const { text } = language.value;
    const detail = language.value.reasonOf(asServiceError(error));
    messages.show({ kind: 'error', text: text.changes.notCreated({ name: nameOf(path) }), detail });
    context.refresh([parentOf(path)]);
    return false;
  }
}
