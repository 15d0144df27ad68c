/** Milliseconds for a connection to come about. */
export const CONNECT_TIMEOUT = 5_000;

/** Milliseconds until the head of an answer, for requests that are quickly done, and for those that move bytes. */
export const QUICK = 20_000;
export const LONG = 10 * 60_000;

/** Milliseconds of silence after which a connection counts as lost: a copy of gigabytes may take minutes. */
export const STALL = 5 * 60_000;
