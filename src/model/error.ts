/**
 * What went wrong, in terms of files and folders. Every way of answering (HTTP today) maps these to its own
 * statuses; a store never knows which.
 */
export type ErrorKind =
  /** The file or folder named does not exist, or only the other kind does. */
  | 'not-found'
  /** Something of the same kind is at the destination, and replacing it was not asked for. */
  | 'already-exists'
  /** A new path would run through a file, or take the name of a folder, and the store can't hold both. */
  | 'wrong-kind'
  /** The text is no path: see `path.ts` for the rules, and the store's own limits. */
  | 'invalid-path'
  /** The request contradicts itself or a rule: a folder into itself, a thumbnail of a text. */
  | 'invalid-request'
  /** The file is not in the state that the caller made a condition of. */
  | 'condition-failed'
  /** The range asked for starts behind the file's last byte. */
  | 'range-unsatisfiable'
  /** Over a limit on size. */
  | 'too-large'
  /** The backend refuses access. */
  | 'denied'
  /** The store can't do this, or can't honour a condition. */
  | 'unsupported'
  /** Not now: overloaded, full or out of reach. `retryAfter` says when to ask again. */
  | 'unavailable';

/**
 * The one error that stores and rules throw on purpose. Its message is written for the person who asked: it
 * says what was wrong and with which value, and nothing of internals. The foreign error behind it is `cause`.
 */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly kind: ErrorKind;
  /** Seconds until another try makes sense; only with `unavailable`. */
  readonly retryAfter: number | undefined;
  /** Whether there was no answer at all: nothing is known of what was asked for. Only with `unavailable`. */
  readonly isUnreachable: boolean;

  constructor(
    kind: ErrorKind,
    message: string,
    options: { cause?: unknown; retryAfter?: number; isOutOfReach?: boolean } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.retryAfter = options.retryAfter;
    this.isUnreachable = options.isOutOfReach ?? false;
  }
}

/** Whether `error` is a StoreError, of the kind given if one is. */
export function isStoreError(error: unknown, kind?: ErrorKind): error is StoreError {
  return error instanceof StoreError && (kind === undefined || error.kind === kind);
}

/** What a look at something finds: undefined for `not-found`, while any other error is thrown on. */
export async function undefinedIfNotFound<Found>(look: Promise<Found>): Promise<Found | undefined> {
  try {
    return await look;
  } catch (error) {
    if (isStoreError(error, 'not-found')) return undefined;
    throw error;
  }
}

/** Whether a look at something finds it, as `undefinedIfNotFound`. */
export async function exists(look: Promise<unknown>): Promise<boolean> {
  return (await undefinedIfNotFound(look.then(() => true))) ?? false;
}

/** An error in any case: streams fail with nothing else, while a signal may have any reason. */
export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

/** A value as it may stand in an error text: quoted, control characters escaped, shortened to be readable. */
export function quoted(value: string): string {
  const characters = Array.from(value.toWellFormed());
  const text = characters.length > 120 ? `${characters.slice(0, 120).join('')}…` : characters.join('');
  return escapeInvisible(JSON.stringify(text));
}

/** Escapes the characters of JSON that can steer a terminal or hide a part of a line. */
export function escapeInvisible(json: string): string {
  return json.replace(UNSEEN, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** What JSON leaves as it is: further control characters, and those that end a line or turn the direction of a text. */
const UNSEEN = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** The code of a system error, or undefined for every other. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
