import type { Rights } from '../access/rights.ts';
import { askAboutConflict, type ConflictAnswer } from '../controls/conflict-question.tsx';
import type { Dialogs } from '../controls/dialogs.ts';
import { isFolderPath, nameOf, parentOf } from '../paths.ts';

export type Decision = ConflictAnswer['decision'] | 'stop';

/** What a person decides where names are taken, asked one at a time, and once where it is to hold for all. */
export interface Decisions {
  /** `destination` is taken, and `remaining` items come after it. */
  decide(destination: string, remaining: () => number): Promise<Decision>;
}

interface Asking {
  readonly dialogs: Dialogs;
  readonly rights: Rights;
  readonly kindAt: (destination: string) => Promise<Kind>;
}

export function createDecisions({ dialogs, rights, kindAt }: Asking): Decisions {
  let standing: Standing | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const ask = async (destination: string, remaining: () => number): Promise<Decision> => {
    if (standing && standing.decision !== 'replace') return standing.decision;
    const kinds = {
      arriving: isFolderPath(destination) ? 'folder' : 'file',
      there: await kindAt(destination),
    } as const;
    if (standing?.arriving === kinds.arriving && standing.there === kinds.there) return standing.decision;
    const answer = await askAboutConflict({
      dialogs,
      name: nameOf(destination),
      folder: parentOf(destination),
      remaining,
      kinds,
      mayReplace: rights.mayIn(parentOf(destination), 'manage'),
    });
    if (answer === null) standing = { decision: 'stop', ...kinds };
    else if (answer.forAll) standing = { decision: answer.decision, ...kinds };
    return answer?.decision ?? 'stop';
  };

  return {
    decide(destination, remaining) {
      const decision = last.then(() => ask(destination, remaining));
      last = decision;
      return decision;
    },
  };
}

type Kind = 'file' | 'folder';

/** What holds for all that comes. Replacing holds among its like alone: a folder goes with all that is in it. */
interface Standing {
  readonly decision: Decision;
  readonly arriving: Kind;
  readonly there: Kind;
}
