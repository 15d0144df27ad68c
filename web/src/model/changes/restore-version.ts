import { parentOf } from '../../platform/paths.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import { restoreVersion } from '../../platform/service/versions.ts';
import type { ChangeContext } from './change-context.ts';

/** Makes a version the content of a file. Shows a message with a button that restores the replaced content. */
export function restoreFileVersion(context: ChangeContext, file: FileEntry, id: string): Promise<void> {
  return context.trackChange((offerUndo) => restoreAndReport({ ...context, offerUndo }, file, id));
}

async function restoreAndReport(context: ChangeContext, { path, name }: FileEntry, id: string): Promise<void> {
  const { service, messages, operations, language } = context;
  const { done, failed } = await operations.perform([{ path }], {
    title: language.value.text.changes.restoring({ count: 1, name }),
    paths: { written: [path] },
    work: () => restoreVersion(service, path, id),
  });
  context.refresh([parentOf(path)]);
  const { text, reasonOf } = language.value;
  for (const { result } of done) {
    const said = text.versions.restored({ name });
    const action = context.offerUndo([{ change: result.change, path, removed: [], added: [] }], said);
    messages.show({ kind: 'done', text: said, action });
  }
  for (const { error } of failed) {
    messages.show({ kind: 'error', text: text.changes.notRestored({ count: 1, name }), detail: reasonOf(error) });
  }
}
