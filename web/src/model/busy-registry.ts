import { computed, type ReadonlySignal, signal } from '@preact/signals';

/** Knows whether work is in progress that leaving the page would cancel. */
export interface BusyRegistry {
  readonly isBusy: ReadonlySignal<boolean>;
  /** Adds a kind of work. `isBusy` reads signals. */
  register(isBusy: () => boolean): void;
}

export function createBusyRegistry(): BusyRegistry {
  const sources = signal<readonly (() => boolean)[]>([]);
  return {
    isBusy: computed(() => sources.value.some((isBusy) => isBusy())),
    register(isBusy) {
      sources.value = [...sources.value, isBusy];
    },
  };
}
