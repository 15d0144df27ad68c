import { findSenderProblem } from './sender.ts';
import type { VisitState } from './visit.ts';

/** The questions that a visitor has to answer before requests continue. */
export interface VisitQuestions {
  readonly askPassword: () => Promise<boolean>;
  readonly askSender: () => Promise<boolean>;
}

export interface VisitQuestionsOptions {
  readonly state: VisitState;
  /** Show a dialog. Each resolves to null if the visitor cancels, and rejects if the dialog can't be loaded. */
  readonly prompts: {
    enterPassword(): Promise<true | null>;
    enterSender(): Promise<true | null>;
  };
  readonly onNotLoaded: () => void;
  /** Whether work is in progress that a reload would cancel. */
  readonly isBusy: () => boolean;
  readonly reload: () => void;
  /** Calls `callback` once, when the visitor next presses a key or a pointer. */
  readonly onNextInput: (callback: () => void) => void;
}

/** Returns questions that are shown only once at a time, for all requests that need the answer. */
export function createVisitQuestions(options: VisitQuestionsOptions): VisitQuestions {
  const { state, prompts, onNotLoaded, isBusy, reload, onNextInput } = options;
  const once = (ask: () => Promise<true | null>) => {
    let open: Promise<boolean> | undefined;
    let hasDeclined = false;
    const show = async () => {
      const isAnswered = await ask().catch(() => onNotLoaded());
      if (isAnswered) return true;
      // The requests that wait would otherwise ask the same question, one after the other.
      hasDeclined = true;
      onNextInput(() => {
        hasDeclined = false;
      });
      return false;
    };
    return async () => {
      if (hasDeclined) return false;
      open ??= show().finally(() => {
        open = undefined;
      });
      return open;
    };
  };
  const askPassword = once(prompts.enterPassword);
  const askSender = once(prompts.enterSender);
  return {
    async askPassword() {
      if (isBusy()) return askPassword();
      // The page for the password. What was shown before must not stay visible without it.
      reload();
      return false;
    },
    askSender: async () => findSenderProblem(state.sender.peek()) === undefined || askSender(),
  };
}
