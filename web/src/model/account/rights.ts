import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { ancestorsOf, ROOT } from '../../platform/paths.ts';
import type { Listing } from '../../platform/service/service.ts';

export type Right = NonNullable<Listing['rights']>[number];

/**
 * What something on the page takes: rights in a folder, and `change`, that there may be any folder to which one may add:
 * nobody is taken to have one where whoever is not signed in may not.
 */
export type Need = Right | 'change';

/** What a person may do, so that nothing else is offered. What is allowed in the end is for the service to say. */
export interface Rights {
  /** Whether the service takes no changes from anybody. */
  readonly isReadOnly: boolean;
  /** In the folder that is shown; while that is being read, in the one before. */
  may(need: Need): boolean;
  /**
   * In any folder. One that was not seen yet has the rights of the nearest one above it where a person may write; else
   * it is taken to have all of them, as there may be a grant for it.
   */
  mayIn(folder: string, need: Need): boolean;
  /** Takes in what a listing says; nothing where access is not controlled, and all is allowed. */
  learn(listing: Pick<Listing, 'prefix' | 'rights'>): void;
}

interface RightsOptions {
  readonly isReadOnly: boolean;
  /** Whether the service says what a person may do: until it has, nothing is allowed. */
  readonly isControlled: boolean;
  /** Whether nobody is signed in who could be. */
  readonly isNobody: () => boolean;
  /** The folder that is shown. */
  readonly shown: ReadonlySignal<string>;
}

export function createRights({ isReadOnly, isControlled, isNobody, shown }: RightsOptions): Rights {
  const known = signal<ReadonlyMap<string, readonly Right[]>>(new Map());
  let last: readonly Right[] = [];
  const here = computed(() => {
    last = known.value.get(shown.value) ?? last;
    return last;
  });

  const allows = (rights: readonly Right[], need: Need): boolean => {
    if (isReadOnly && need !== 'read') return false;
    if (need === 'change') return !isNobody() || rights.includes('write');
    return !isControlled || rights.includes(need);
  };
  const nearest = (folder: string): readonly Right[] | undefined => {
    const above = [ROOT, ...ancestorsOf(folder)].slice(0, folder === ROOT ? 0 : -1);
    const around = above.toReversed().map((path) => known.value.get(path));
    const found = around.find((rights) => rights !== undefined);
    return found?.includes('write') ? found : undefined;
  };

  return {
    isReadOnly,
    may: (need) => allows(here.value, need),
    mayIn: (folder, need) => allows(known.value.get(folder) ?? nearest(folder) ?? ALL, need),
    learn({ prefix, rights }) {
      if (rights === undefined || known.peek().get(prefix)?.join() === rights.join()) return;
      known.value = new Map(known.peek()).set(prefix, rights);
    },
  };
}

const ALL: readonly Right[] = ['read', 'write', 'manage'];
