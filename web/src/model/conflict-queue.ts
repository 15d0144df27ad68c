import type { ConflictAnswer, ItemKinds } from './prompts.ts';

/** `cancel`: the user closed the dialog, which also applies to all later conflicts of the batch. */
export type ConflictDecision = ConflictAnswer['decision'] | 'cancel';

/** An item whose name is taken at its destination. */
export interface PendingConflict {
  /** The items that the user copied, moved or uploaded together. A decision "for all" applies to these. */
  readonly batch: object;
  /** Returns the kinds of the new and the existing item. */
  readonly findKinds: () => ItemKinds | Promise<ItemKinds>;
  /** Asks the user. Resolves to null if the user closes the dialog. */
  readonly ask: (kinds: ItemKinds) => Promise<ConflictAnswer | null>;
}

/** Asks the user about one name conflict at a time, in the order of the calls. */
export class ConflictQueue {
  #last: Promise<unknown> = Promise.resolve();
  readonly #decisionsForAll = new WeakMap<object, DecisionForAll>();

  /** Resolves to the decision of the user. Asks nothing if an earlier decision applies. */
  decide(conflict: PendingConflict): Promise<ConflictDecision> {
    const decision = this.#last.then(() => this.#decide(conflict));
    this.#last = decision.catch(() => {});
    return decision;
  }

  async #decide({ batch, findKinds, ask }: PendingConflict): Promise<ConflictDecision> {
    const forAll = this.#decisionsForAll.get(batch);
    if (forAll && forAll.decision !== 'replace') return forAll.decision;
    const kinds = await findKinds();
    if (forAll && isEqual(forAll.kinds, kinds)) return forAll.decision;
    const answer = await ask(kinds);
    const decision = answer?.decision ?? 'cancel';
    if (answer === null || answer.forAll) this.#decisionsForAll.set(batch, { decision, kinds });
    return decision;
  }
}

/**
 * A decision for all later conflicts. "Replace" applies only to items of the same kinds: a user who replaces all files
 * has not agreed to replace a folder with its content.
 */
interface DecisionForAll {
  readonly decision: ConflictDecision;
  readonly kinds: ItemKinds;
}

const isEqual = (one: ItemKinds, other: ItemKinds) =>
  one.incoming === other.incoming && one.existing === other.existing;
