import type { Decision, QueuedItem } from './upload-item.ts';

/** The user's decision; null if the user dismissed the question. */
export type ConflictReply = { readonly decision: Decision; readonly forAll: boolean } | null;

/** The items whose names are taken: one is asked about at a time, the others wait behind it. */
export interface Conflicts {
  /** Takes an item in the state `asking`. */
  add(item: QueuedItem): void;
}

interface ConflictsOptions {
  readonly ask: (item: QueuedItem) => Promise<ConflictReply>;
  /** Called for each item that still is `asking` when it is decided. */
  readonly onDecided: (item: QueuedItem, decision: Decision) => void;
}

export function createConflicts({ ask, onDecided }: ConflictsOptions): Conflicts {
  const pending: QueuedItem[] = [];
  let isAsking = false;

  const decide = (item: QueuedItem, decision: Decision) => {
    // It may have been cancelled while it waited.
    if (item.state.value === 'asking') onDecided(item, decision);
  };
  const askOn = async () => {
    for (let item = pending.shift(); item; item = pending.shift()) {
      if (item.state.value !== 'asking') continue;
      if (!item.batch.decision) {
        const reply = await ask(item);
        // A dismissed question skips this file and all others of the batch.
        const { decision, forAll } = reply ?? { decision: 'skip', forAll: true };
        if (forAll) item.batch.decision = decision;
        decide(item, decision);
      } else {
        decide(item, item.batch.decision);
      }
    }
  };

  return {
    add(item) {
      if (item.batch.decision) return decide(item, item.batch.decision);
      pending.push(item);
      if (isAsking) return;
      isAsking = true;
      // A moment later, so that those which are added together are known by the time of the first question.
      void Promise.resolve()
        .then(askOn)
        .finally(() => {
          isAsking = false;
        });
    },
  };
}
