import { batch, type ReadonlySignal, signal } from '@preact/signals';
import type { QueuedItem, UploadState } from './upload-item.ts';

/** The totals of all uploads since the last idle time. The byte counts exclude failed and cancelled items. */
export interface UploadSummary {
  /** The number of items in each state. */
  readonly count: Readonly<Record<UploadState, number>>;
  /** The number of completed files in the list, also of earlier uploads. */
  readonly filesDone: number;
  /** Bytes. */
  readonly sent: number;
  readonly total: number;
  /** The completed fraction, from 0 to 1: of the bytes, or of the items if they have no bytes. */
  readonly part: number;
  /** Bytes per second, and seconds; null while unknown. */
  readonly speed: number | null;
  readonly secondsLeft: number | null;
}

/** Milliseconds between two summaries: often enough to look live, rarely enough to be readable. */
const SUMMARY_INTERVAL_MS = 500;

/** Maintains the upload totals. Each step takes constant time. */
export class UploadTotals {
  readonly #count = zeroPerState();
  readonly #size = zeroPerState();
  readonly #speedometer = new Speedometer();
  readonly #now: () => number;
  /** Completed items of earlier uploads, which stay in the list. */
  readonly #earlier = new Set<QueuedItem>();
  #filesDone = 0;
  #sent = 0;
  /** Bytes sent, whatever the outcome. */
  #transferred = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #summary = signal(this.#summarize());
  readonly #isBusy = signal(false);
  readonly summary: ReadonlySignal<UploadSummary> = this.#summary;
  /** Whether an item is unfinished. Updated immediately, before the next summary. */
  readonly isBusy: ReadonlySignal<boolean> = this.#isBusy;

  /** `now` returns milliseconds. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  add(item: QueuedItem): void {
    this.#include(item, 1);
  }

  remove(item: QueuedItem): void {
    const isEarlier = this.#earlier.delete(item);
    if (!isEarlier) return this.#include(item, -1);
    if (item.kind === 'file') this.#filesDone -= 1;
    this.#publishSoon();
  }

  /** Excludes a completed item from the progress of the next uploads. The item stays in the list. */
  setAside(item: QueuedItem): void {
    if (this.#earlier.has(item)) return;
    this.#include(item, -1);
    this.#earlier.add(item);
    if (item.kind === 'file') this.#filesDone += 1;
  }

  /** Changes the state of an item, and sets its sent bytes to all or none. */
  setState(item: QueuedItem, state: UploadState): void {
    batch(() => {
      this.#include(item, -1);
      item.state.value = state;
      item.sent.value = state === 'done' ? item.size : 0;
      this.#include(item, 1);
    });
  }

  /** Records how many bytes of an item were sent. */
  setSent(item: QueuedItem, bytes: number): void {
    const more = bytes - item.sent.value;
    this.#sent += more;
    this.#transferred += Math.max(0, more);
    item.sent.value = bytes;
  }

  /** Publishes the summary immediately. */
  publish(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const isSending = this.#count.sending > 0;
    if (isSending) this.#speedometer.record(this.#now(), this.#transferred);
    else this.#speedometer.reset();
    this.#summary.value = this.#summarize();
    // A stalled upload also changes the summary: its speed falls and its remaining time grows.
    if (isSending) this.#publishSoon();
  }

  #publishSoon(): void {
    this.#timer ??= setTimeout(() => this.publish(), SUMMARY_INTERVAL_MS);
  }

  /** Adds an item to the totals, or subtracts it. */
  #include(item: QueuedItem, factor: 1 | -1): void {
    const state = item.state.value;
    this.#count[state] += factor;
    this.#size[state] += factor * item.size;
    if (state === 'done' && item.kind === 'file') this.#filesDone += factor;
    if (state === 'sending' || state === 'done') this.#sent += factor * item.sent.value;
    this.#isBusy.value = this.#count.waiting + this.#count.conflict + this.#count.sending > 0;
    this.#publishSoon();
  }

  #summarize(): UploadSummary {
    const count = { ...this.#count };
    const size = this.#size;
    const active = size.waiting + size.sending;
    const total = active + size.conflict + size.done;
    const items = count.waiting + count.sending + count.conflict + count.done;
    const speed = this.#speedometer.speed();
    return {
      count,
      filesDone: this.#filesDone,
      sent: this.#sent,
      total,
      part: total > 0 ? this.#sent / total : items > 0 ? count.done / items : 0,
      speed,
      // Files with a name conflict don't count, because they wait for the user.
      secondsLeft: secondsLeft(active - (this.#sent - size.done), speed),
    };
  }
}

function zeroPerState(): Record<UploadState, number> {
  return { waiting: 0, conflict: 0, sending: 0, done: 0, failed: 0, cancelled: 0, skipped: 0, interrupted: 0 };
}

/** Milliseconds of which the speed is the average: longer than the bursts in which browsers report progress. */
const SPEED_WINDOW_MS = 6_000;

/** Milliseconds of samples below which the speed is unknown. */
const MIN_SPEED_WINDOW_MS = 1_000;

/** Measures the speed over the last few seconds. Times are in milliseconds. */
export class Speedometer {
  #samples: readonly { readonly time: number; readonly bytes: number }[] = [];

  /** Records the bytes sent since the start. */
  record(time: number, bytes: number): void {
    const samples = [...this.#samples, { time, bytes }];
    // The last sample before the window stays: the window begins between two samples.
    const first = samples.findLastIndex((sample) => sample.time <= time - SPEED_WINDOW_MS);
    this.#samples = samples.slice(Math.max(0, first));
  }

  /** Returns bytes per second; null while unknown. */
  speed(): number | null {
    const [first, latest] = [this.#samples[0], this.#samples.at(-1)];
    if (!first || !latest || latest.time - first.time < MIN_SPEED_WINDOW_MS) return null;
    return ((latest.bytes - first.bytes) * 1000) / (latest.time - first.time);
  }

  /** Removes all samples, such as after a pause. */
  reset(): void {
    this.#samples = [];
  }
}

/** Returns the seconds that the remaining bytes take at a speed; null if unknown or if nothing moves. */
export function secondsLeft(bytesLeft: number, speed: number | null): number | null {
  return speed === null || speed <= 0 ? null : bytesLeft / speed;
}
