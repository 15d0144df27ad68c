import { nameOf, parentOf } from '../../platform/paths.ts';
import { undoChange } from '../../platform/service/undo.ts';
import type { ChangeContext } from './change-context.ts';
import { subjectOf } from './change-texts.ts';

/** A change in the change log, of any user. */
interface LoggedChange {
  readonly id: string;
  readonly path: string;
  readonly from?: string | undefined;
  /** What the change did, as text. */
  readonly description: string;
}

/** Undoes a change. Shows a message with a button that redoes it, or with the reason why it can't be undone. */
export function undoLogged(context: ChangeContext, change: LoggedChange): Promise<void> {
  return context.trackChange((offerUndo) => undoAndReport({ ...context, offerUndo }, change));
}

async function undoAndReport(context: ChangeContext, { id, path, from, description }: LoggedChange): Promise<void> {
  const { service, messages, operations, language, trashChanges } = context;
  const paths = from === undefined ? [path] : [path, from];
  const { done, failed } = await operations.perform([{ path }], {
    title: language.value.text.activity.undoing({ name: nameOf(path) }),
    paths: { written: paths },
    work: (_item, { signal, onProgress }) => undoChange(service, id, { signal, onProgress }),
  });
  context.refresh(paths.map(parentOf), paths);
  trashChanges.value++;
  const { text } = language.value;
  for (const { result: undone } of done) {
    // Undoing the undo redoes the change.
    const said = text.changes.undone({ message: description });
    const action = context.offerUndo([{ change: undone, path, removed: [], added: [] }], said);
    messages.show({ kind: 'done', text: said, action });
  }
  for (const { error } of failed) {
    messages.show({
      kind: 'error',
      text: text.changes.notUndone(subjectOf([path])),
      detail: language.value.reasonOf(error),
    });
  }
}
