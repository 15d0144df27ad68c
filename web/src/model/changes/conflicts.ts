import { isFolderPath, nameOf, parentOf } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import type { Permissions } from '../account/permissions.ts';
import type { ConflictAnswer, ItemKind, Prompts } from '../prompts.ts';

export type Decision = ConflictAnswer['decision'] | 'stop';

/** Decides name conflicts: asks the user about each conflict, or once if the decision applies to all. */
export interface Decisions {
  decide(conflict: TransferConflict): Promise<Decision>;
}

interface TransferConflict {
  /** The path that already exists. */
  readonly destination: string;
  /** The entry to copy or move; undefined if unknown. */
  readonly arriving: Entry | undefined;
  /** Returns the number of other items that are known to conflict. */
  readonly others: () => number;
}

interface Asking {
  readonly prompts: Prompts;
  readonly permissions: Permissions;
  readonly kindAt: (destination: string) => Promise<ItemKind>;
}

export function createDecisions({ prompts, permissions, kindAt }: Asking): Decisions {
  let standing: Standing | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const ask = async ({ destination, arriving, others }: TransferConflict): Promise<Decision> => {
    if (standing && standing.decision !== 'replace') return standing.decision;
    const kinds = {
      arriving: isFolderPath(destination) ? 'folder' : 'file',
      there: await kindAt(destination),
    } as const;
    if (standing?.arriving === kinds.arriving && standing.there === kinds.there) return standing.decision;
    const answer = await prompts.resolveConflict({
      name: nameOf(destination),
      folder: parentOf(destination),
      others,
      kinds,
      arriving,
      mayReplace: permissions.allowsIn(parentOf(destination), 'manage'),
    });
    if (answer === null) standing = { decision: 'stop', ...kinds };
    else if (answer.forAll) standing = { decision: answer.decision, ...kinds };
    return answer?.decision ?? 'stop';
  };

  return {
    decide(conflict) {
      const decision = last.then(() => ask(conflict));
      last = decision;
      return decision;
    },
  };
}

/**
 * A decision for all later conflicts. "Replace" applies only between equal kinds, because a folder is replaced with
 * its content.
 */
interface Standing {
  readonly decision: Decision;
  readonly arriving: ItemKind;
  readonly there: ItemKind;
}
