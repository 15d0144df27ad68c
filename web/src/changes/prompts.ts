import type { Conflict, ConflictAnswer } from '../controls/conflict-question.tsx';
import type { Entry } from '../service/service.ts';

/** Asks the user. Each method returns null if the user cancels. */
export interface Prompts {
  /** Asks for the name of a new folder in `folder`. */
  promptName(place: { readonly folder: string; readonly isTaken: (name: string) => boolean }): Promise<string | null>;
  confirmDelete(entries: readonly Entry[]): Promise<true | null>;
  resolveConflict(conflict: Conflict): Promise<ConflictAnswer | null>;
}
