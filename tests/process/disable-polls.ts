/*
 * Loaded before a service, whose change feeds and streams of changes then neither poll nor send heartbeats: without a message
 * of another process, they never learn of a change. No other timer of the service has a fraction of a millisecond.
 */
const setRealTimeout = globalThis.setTimeout;
const isPoll = (milliseconds: number | undefined) =>
  milliseconds !== undefined && milliseconds >= 1000 && !Number.isInteger(milliseconds);

globalThis.setTimeout = Object.assign(
  (callback: (...args: unknown[]) => void, milliseconds?: number, ...args: unknown[]) =>
    setRealTimeout(callback, isPoll(milliseconds) ? 2 ** 31 - 1 : milliseconds, ...args),
  setRealTimeout,
);
