import { askAboutConflict, type ConflictAnswer } from '../controls/conflict-question.tsx';
import type { Dialogs } from '../controls/dialogs.ts';
import { isFolderPath, nameOf, parentOf } from '../paths.ts';

export type Decision = ConflictAnswer['decision'] | 'stop';

/** What a person decides where names are taken, asked one at a time, and once where it is to hold for all. */
export interface Decisions {
  /** `destination` is taken, and `remaining` items come after it. */
  decide(destination: string, remaining: () => number): Promise<Decision>;
}

export function createDecisions(dialogs: Dialogs, kindAt: (destination: string) => Promise<Kind>): Decisions {
  let standing: Decision | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const ask = async (destination: string, remaining: () => number): Promise<Decision> => {
    if (standing) return standing;
    const there = await kindAt(destination);
    const answer = await askAboutConflict({
      dialogs,
      name: nameOf(destination),
      folder: parentOf(destination),
      remaining: remaining(),
      kinds: { arriving: isFolderPath(destination) ? 'folder' : 'file', there },
    });
    if (answer === null) standing = 'stop';
    else if (answer.forAll) standing = answer.decision;
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
