import { computed, type ReadonlySignal, signal } from '@preact/signals';

/** The drops whose folders are being read, side by side. */
export interface Readings {
  /** How many files all of them have brought so far; null while none brings any. */
  readonly found: ReadonlySignal<number | null>;
  begin(): Reading;
}

export interface Reading {
  /** Tells how many files this one has brought so far. */
  find(files: number): void;
  end(): void;
}

export function createReadings(): Readings {
  const counts = signal<ReadonlyMap<Reading, number>>(new Map());
  return {
    found: computed(() => {
      const found = [...counts.value.values()];
      return found.length > 0 ? found.reduce((sum, files) => sum + files, 0) : null;
    }),
    begin() {
      const reading: Reading = {
        find(files) {
          counts.value = new Map(counts.value).set(reading, files);
        },
        end() {
          counts.value = new Map([...counts.value].filter(([other]) => other !== reading));
        },
      };
      return reading;
    },
  };
}
