import { parentOf } from '../../platform/paths.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import { listVersions, restoreVersion } from '../../platform/service/versions.ts';
import type { ChangeContext } from './change-context.ts';
import type { Failed, Item } from './operations.ts';

/** Makes a version the content of a file. Shows a message with a button that restores the replaced content. */
export async function restoreFileVersion(context: ChangeContext, { path, name }: FileEntry, id: string): Promise<void> {
  const { service, messages, language } = context;
  const { done, failed } = await perform(context, { path, name }, async () => {
    await restoreVersion(service, path, id);
    // The replaced content is the newest version now.
    const { versions } = await listVersions(service, path, { limit: 1 });
    return versions[0]?.id;
  });
  const { text } = language.value;
  for (const { result: replaced } of done) {
    const action =
      replaced === undefined ? undefined : context.offerUndo(() => void undo(context, path, name, replaced));
    messages.show({ kind: 'done', text: text.versions.restored({ name }), action });
  }
  sayFailure(context, text.changes.notRestored({ count: 1, name }), failed);
}

async function undo(context: ChangeContext, path: string, name: string, replaced: string): Promise<void> {
  const { service, messages, language } = context;
  const { done, failed } = await perform(context, { path, name }, () => restoreVersion(service, path, replaced));
  const { changes } = language.value.text;
  if (done.length > 0) messages.announce(changes.undone);
  sayFailure(context, changes.notUndone, failed);
}

async function perform<Result>(
  context: ChangeContext,
  { path, name }: { readonly path: string; readonly name: string },
  work: () => Promise<Result>,
) {
  const title = context.language.value.text.changes.restoring({ count: 1, name });
  const outcome = await context.operations.perform([{ path }], { title, paths: { written: [path] }, work });
  context.refresh([parentOf(path)]);
  return outcome;
}

function sayFailure({ messages, language }: ChangeContext, text: string, failed: readonly Failed<Item>[]): void {
  for (const { error } of failed) messages.show({ kind: 'error', text, detail: language.value.reasonOf(error) });
}
