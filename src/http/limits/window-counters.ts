import { LRUCache } from 'lru-cache';
import { maxEntries } from '../../domain/max-entries.ts';

/** Counters of fixed time windows. A window begins with the first unit taken from it, and is dropped when it ends. */
export interface WindowCounters {
  /** Takes up to `wanted` units of the window of `id`, which has `max` units. Grants 0 if none are left. */
  take(id: string, request: TakeRequest): Promise<Taken>;
  /** Returns one unit. Has no effect after the end of the window. */
  giveBack(id: string): Promise<void>;
  /** Returns the last known state of a window without a round trip; undefined if none is known. */
  peek(id: string): Window | undefined;
}

export interface TakeRequest {
  readonly wanted: number;
  readonly max: number;
  readonly seconds: number;
}

export interface Window {
  /** Units taken so far. */
  readonly count: number;
  /** Milliseconds since 1970. */
  readonly ends: number;
}

export interface Taken extends Window {
  readonly granted: number;
}

/**
 * Maximum number of windows. The least recently used are dropped; a window under attack stays, because it is in use.
 */
const MAX_WINDOWS = 50_000;

/** The windows that one process counts. */
export class FixedWindows {
  readonly #windows = new LRUCache<string, { count: number; readonly ends: number }>(maxEntries(MAX_WINDOWS));

  take(id: string, { wanted, max, seconds }: TakeRequest): Taken {
    const now = Date.now();
    let window = this.#windows.get(id);
    if (!window || window.ends <= now) {
      window = { count: 0, ends: now + seconds * 1000 };
      this.#windows.set(id, window);
    }
    const granted = Math.max(0, Math.min(wanted, max - window.count));
    window.count += granted;
    return { granted, count: window.count, ends: window.ends };
  }

  /** Returns one unit. The result is the window afterwards; undefined if it has ended. */
  giveBack(id: string): Window | undefined {
    const window = this.#windows.get(id);
    if (!window || window.ends <= Date.now()) return undefined;
    window.count = Math.max(0, window.count - 1);
    return window;
  }

  peek(id: string): Window | undefined {
    const window = this.#windows.get(id);
    return window && window.ends > Date.now() ? window : undefined;
  }

  /** Stores a state that was counted elsewhere. */
  note(id: string, { count, ends }: Window): void {
    if (ends > Date.now()) this.#windows.set(id, { count, ends });
  }
}

/** Creates counters for this process only. */
export function createLocalCounters(): WindowCounters {
  const windows = new FixedWindows();
  return {
    take: async (id, request) => windows.take(id, request),
    giveBack: async (id) => void windows.giveBack(id),
    peek: (id) => windows.peek(id),
  };
}
