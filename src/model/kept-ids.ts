import { randomInt } from 'node:crypto';
import { recordingTime } from './clock.ts';
import { quoted, StoreError } from './error.ts';

declare const kept: unique symbol;

/**
 * The id of an item in the trash or of a version. It is safe as a single segment of a path and of a URL. Only the store
 * that returned an id interprets it.
 */
export type KeptId = string & { readonly [kept]: true };

/** Number of base-36 digits of each part of an id that `newKeptId` creates. */
const TIME_LENGTH = 9;
const COUNTER_LENGTH = 3;
const RANDOM_LENGTH = 8;

/** A time and a counter in 12 digits, and a random number in 8. */
const NEW_ID = /^[0-9a-z]{12}-[0-9a-z]{8}$/;

const MAX_MILLISECONDS = 36 ** TIME_LENGTH - 1;
const MAX_COUNTER = 36 ** COUNTER_LENGTH - 1;

let latest = { milliseconds: 0, counter: 0 };

/**
 * Returns a new id. Ids sort by time, the newest first, because their first part counts down. A store that lists names
 * in ascending order therefore lists the newest first. Ids of one process also sort within a millisecond.
 */
export function newKeptId(milliseconds = recordingTime()): KeptId {
  const counter = milliseconds === latest.milliseconds ? (latest.counter + 1) % (MAX_COUNTER + 1) : 0;
  latest = { milliseconds, counter };
  const time = digits(MAX_MILLISECONDS - milliseconds, TIME_LENGTH) + digits(MAX_COUNTER - counter, COUNTER_LENGTH);
  return `${time}-${digits(randomInt(36 ** RANDOM_LENGTH), RANDOM_LENGTH)}` as KeptId;
}

/** Returns the time of an id that `newKeptId` created; undefined for any other id. */
export function timeOfKeptId(id: string): Date | undefined {
  return NEW_ID.test(id) ? new Date(MAX_MILLISECONDS - Number.parseInt(id.slice(0, TIME_LENGTH), 36)) : undefined;
}

/** Ids of any store, such as version ids of a bucket. No first dot, and no character with a meaning in paths. */
const ANY_ID = /^[A-Za-z0-9_~-][A-Za-z0-9._~-]{0,1023}$/;

/** Parses the id in a request. Throws `invalid-request` if no store can have issued it. */
export function parseKeptId(text: string): KeptId {
  if (ANY_ID.test(text)) return text as KeptId;
  throw new StoreError('invalid-request', `The id ${quoted(text)} is not valid. Take ids from the listing.`);
}

const digits = (value: number, length: number) => value.toString(36).padStart(length, '0');
