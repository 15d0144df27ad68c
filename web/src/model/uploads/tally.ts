import { batch, type ReadonlySignal, signal } from '@preact/signals';
import { createSpeedometer, secondsLeft } from './speed.ts';
import type { QueuedItem, UploadState } from './upload-item.ts';

/** The totals of all uploads. The byte counts exclude failed and cancelled items. */
export interface UploadSummary {
  /** The number of items in each state. */
  readonly count: Readonly<Record<UploadState, number>>;
  /** The number of files among the completed items. */
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

/** Maintains the upload totals. Each step takes constant time. */
export interface Tally {
  readonly summary: ReadonlySignal<UploadSummary>;
  /** Whether an item is unfinished. Updated immediately, before the next summary. */
  readonly isBusy: ReadonlySignal<boolean>;
  add(item: QueuedItem): void;
  remove(item: QueuedItem): void;
  move(item: QueuedItem, state: UploadState): void;
  send(item: QueuedItem, bytes: number): void;
  /** Publishes the summary immediately. */
  publish(): void;
}

/** Milliseconds between two summaries: often enough to look live, rarely enough to be readable. */
const INTERVAL = 500;

export function createTally(now: () => number = () => performance.now()): Tally {
  const count = emptyCount();
  const size = emptyCount();
  const speedometer = createSpeedometer();
  let filesDone = 0;
  let sent = 0;
  /** Bytes sent, whatever the outcome. */
  let gone = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const summarize = (): UploadSummary => {
    const ahead = size.waiting + size.sending;
    const total = ahead + size.asking + size.done;
    const items = count.waiting + count.sending + count.asking + count.done;
    const speed = speedometer.speed();
    return {
      count: { ...count },
      filesDone,
      sent,
      total,
      part: total > 0 ? sent / total : items > 0 ? count.done / items : 0,
      speed,
      // Bytes that wait only for a response don't count as remaining time.
      secondsLeft: secondsLeft(ahead - (sent - size.done), speed),
    };
  };
  const summary = signal(summarize());
  const isBusy = signal(false);

  const publish = () => {
    clearTimeout(timer);
    timer = undefined;
    if (count.sending > 0) speedometer.record(now(), gone);
    else speedometer.reset();
    summary.value = summarize();
    // A stalled upload also changes the summary: its speed falls and its remaining time grows.
    if (count.sending > 0) publishSoon();
  };
  const publishSoon = () => {
    timer ??= setTimeout(publish, INTERVAL);
  };

  const put = (item: QueuedItem, by: 1 | -1) => {
    const state = item.state.value;
    count[state] += by;
    size[state] += by * item.size;
    if (state === 'done' && item.kind === 'file') filesDone += by;
    if (countsAsSent(state)) sent += by * item.sent.value;
    isBusy.value = count.waiting + count.asking + count.sending > 0;
    publishSoon();
  };

  return {
    summary,
    isBusy,
    publish,
    add: (item) => put(item, 1),
    remove: (item) => put(item, -1),
    move(item, state) {
      batch(() => {
        put(item, -1);
        item.state.value = state;
        item.sent.value = state === 'done' ? item.size : 0;
        put(item, 1);
      });
    },
    send(item, bytes) {
      const more = bytes - item.sent.value;
      sent += more;
      gone += Math.max(0, more);
      item.sent.value = bytes;
    },
  };
}

const countsAsSent = (state: UploadState) => state === 'sending' || state === 'done';

function emptyCount(): Record<UploadState, number> {
  return { waiting: 0, asking: 0, sending: 0, done: 0, failed: 0, cancelled: 0, skipped: 0 };
}
