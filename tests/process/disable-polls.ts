/*
 * Loaded before a service, whose change feeds then don't poll: without a message of another process, they never learn of a
 * change. Their interval is between 1.5 and 2.5 seconds.
 */
const setRealTimeout = globalThis.setTimeout;
const isPoll = (milliseconds: number | undefined) =>
  milliseconds !== undefined && milliseconds >= 1400 && milliseconds <= 2500 && !Number.isInteger(milliseconds);

globalThis.setTimeout = Object.assign(
  (callback: (...args: unknown[]) => void, milliseconds?: number, ...args: unknown[]) =>
    setRealTimeout(callback, isPoll(milliseconds) ? 2 ** 31 - 1 : milliseconds, ...args),
  setRealTimeout,
);
