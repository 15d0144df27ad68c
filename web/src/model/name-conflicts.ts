import { entriesIn } from '../platform/service/pages.ts';
import type { Service } from '../platform/service/service.ts';
import type { Folder } from './folder/folder.ts';
import type { ConflictAnswer, ItemKinds } from './prompts.ts';

/*
 * Name conflicts of uploads, copies and moves: which names are taken at the destination, and what the user decides about
 * an item whose name is taken.
 */

/** The names that are known to be taken. The service makes the final decision. */
export interface TakenNames {
  /** Returns whether a file or a folder has the name. */
  isTaken(folder: string, name: string): boolean;
  /** Returns whether a file has the name. */
  isFile(folder: string, name: string): boolean;
  /** Records that a path is taken or reserved. The path of a folder ends with "/". */
  take(path: string): void;
  /** Lists a folder once, until `forget` is called. Never throws: the service detects conflicts with unknown names. */
  learn(folder: string): Promise<void>;
  forget(): void;
}

export function createTakenNames(
  service: Pick<Service, 'list'>,
  folder: Pick<Folder, 'path' | 'listing' | 'entryOf'>,
): TakenNames {
  let taken = new Set<string>();
  let listings = new Map<string, Promise<void>>();

  const exists = (path: string) => taken.has(path) || folder.entryOf(path) !== undefined;
  const list = async (path: string) => {
    // Entries that arrive after `forget` go to the forgotten set.
    const found = taken;
    for await (const entry of entriesIn(service, path)) found.add(entry.path);
  };

  return {
    isTaken: (path, name) => exists(path + name) || exists(`${path}${name}/`),
    isFile: (path, name) => exists(path + name),
    take: (path) => void taken.add(path),
    learn(path) {
      if (folder.path.value === path && folder.listing.value === 'complete') return Promise.resolve();
      const listing = listings.get(path) ?? list(path).catch(() => {});
      listings.set(path, listing);
      return listing;
    },
    forget() {
      taken = new Set();
      listings = new Map();
    },
  };
}

/** `cancel`: the user closed the dialog, which also applies to all later conflicts of the batch. */
export type ConflictDecision = ConflictAnswer['decision'] | 'cancel';

export const isReplacement = (decision: ConflictDecision): boolean =>
  decision === 'replace' || decision === 'replace-with-versions';

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
    if (forAll && !isReplacement(forAll.decision)) return forAll.decision;
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
