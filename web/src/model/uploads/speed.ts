/** How fast bytes go, over the last few seconds. Times are in milliseconds. */
export interface Speedometer {
  /** Tells how many bytes went in all, up to a time. */
  record(time: number, bytes: number): void;
  /** Bytes per second; null while too little is known to say so. */
  speed(): number | null;
  /** Forgets all, as after a pause. */
  reset(): void;
}

/** Milliseconds that count: longer than the bursts in which browsers tell what they sent, shorter than patience. */
const WINDOW = 6_000;

/** Milliseconds before which a speed is a guess. */
const ENOUGH = 1_000;

export function createSpeedometer(): Speedometer {
  let samples: { readonly time: number; readonly bytes: number }[] = [];
  return {
    record(time, bytes) {
      samples.push({ time, bytes });
      // The last one before the window stays: the window begins between two samples.
      const first = samples.findLastIndex((sample) => sample.time <= time - WINDOW);
      if (first > 0) samples = samples.slice(first);
    },
    speed() {
      const [first, latest] = [samples[0], samples.at(-1)];
      if (!first || !latest || latest.time - first.time < ENOUGH) return null;
      return ((latest.bytes - first.bytes) * 1000) / (latest.time - first.time);
    },
    reset() {
      samples = [];
    },
  };
}

/** Seconds that the rest takes at a speed; null where that can't be said, as while nothing moves. */
export function secondsLeft(bytesLeft: number, speed: number | null): number | null {
  return speed === null || speed <= 0 ? null : bytesLeft / speed;
}
