import type { Text } from '../../platform/text/language.ts';
import type { Tools } from './change-context.ts';
import type { FolderCreation } from './create-folder.ts';
import type { TransferKind } from './steps.ts';
import type { Transfers } from './transfer.ts';
import { subjectOf } from './words.ts';

/** Asks for a folder, and copies or moves into it. */
export function createTransferElsewhere(
  { prompts, folder, language, messages }: Tools,
  { transfer, create }: Pick<Transfers, 'transfer'> & Pick<FolderCreation, 'create'>,
): (kind: TransferKind, paths: readonly string[]) => Promise<void> {
  return async (kind, paths) => {
    if (paths.length === 0) return;
    const start = folder.path.value;
    try {
      const target = await prompts.pickFolder({ kind, paths, start, create });
      if (target !== null) await transfer(kind, paths, target);
    } catch {
      // The dialog could not be loaded.
      const { text } = language.value;
      messages.say({
        kind: 'error',
        text: notDone(kind, text)(subjectOf(paths)),
        detail: text.problems.unreachable,
      });
    }
  };
}

const notDone = (kind: TransferKind, { changes }: Text) => (kind === 'copy' ? changes.notCopied : changes.notMoved);
