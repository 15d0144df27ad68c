import { constants } from 'node:os';

/**
 * The kind of an error, in terms of files and folders. Each protocol (today only HTTP) maps kinds to its own status
 * codes; stores don't know them.
 */
export type ErrorKind =
  /** The file or folder does not exist, or the path is of the other kind. */
  | 'not-found'
  /** The destination has an entry of the same kind, and the caller did not ask to replace it. */
  | 'already-exists'
  /** A parent in the path is a file, or an entry of the other kind has the path, and the store can't hold both. */
  | 'wrong-kind'
  /** The text is not a valid path. See the rules in `path.ts`; a store can have further limits. */
  | 'invalid-path'
  /**
   * The request contradicts itself or breaks a rule, such as a move of a folder into itself or a thumbnail of a text
   * file.
   */
  | 'invalid-request'
  /** Another user or client holds a lock on the file, on its folder or on a file in the folder. */
  | 'locked'
  /** The file does not meet a condition of the request. */
  | 'condition-failed'
  /** The range starts after the last byte of the file. */
  | 'range-unsatisfiable'
  /** The content exceeds a size limit. */
  | 'too-large'
  /** The backend refuses access. */
  | 'denied'
  /** A mount point is in the way: the item can't be moved to another file system, or contains one. */
  | 'other-file-system'
  /** What came after a change does not allow to undo it. */
  | 'not-undoable'
  /** The store does not support the operation, or can't enforce a condition. */
  | 'unsupported'
  /** The backend is overloaded, full or unreachable. `retryAfter` is the time until the next attempt. */
  | 'unavailable';

/**
 * The codes of errors, with the kind of each. A kind's own name is the code of the general case; the other codes
 * distinguish what a program or a translation has to distinguish. Codes are public and stable: add codes, but never
 * rename, remove or reassign one.
 */
export const KIND_OF_CODE = {
  'not-found': 'not-found',
  'change-not-found': 'not-found',

  'already-exists': 'already-exists',
  'folder-not-empty': 'already-exists',

  'wrong-kind': 'wrong-kind',

  'invalid-path': 'invalid-path',
  'path-too-long': 'invalid-path',
  'unsupported-name': 'invalid-path',
  'root-not-allowed': 'invalid-path',

  'invalid-request': 'invalid-request',
  'invalid-cursor': 'invalid-request',
  'cursor-expired': 'invalid-request',
  'same-path': 'invalid-request',
  'folder-into-itself': 'invalid-request',
  'destination-contains-source': 'invalid-request',
  'incomplete-body': 'invalid-request',
  'lfs-pointer': 'invalid-request',
  'rejected-by-store': 'invalid-request',
  'unsupported-image': 'invalid-request',
  'damaged-image': 'invalid-request',

  locked: 'locked',

  'condition-failed': 'condition-failed',
  'file-changed': 'condition-failed',
  'name-taken': 'condition-failed',
  'job-outdated': 'condition-failed',

  'range-unsatisfiable': 'range-unsatisfiable',

  'too-large': 'too-large',
  'upload-too-large': 'too-large',
  'too-large-for-store': 'too-large',
  'zip-too-large': 'too-large',
  'too-many-properties': 'too-large',
  'no-download-url': 'too-large',
  'image-too-large': 'too-large',
  'image-too-complex': 'too-large',

  denied: 'denied',
  'read-only': 'denied',
  'file-archived': 'denied',
  'repository-archived': 'denied',
  'token-lacks-permission': 'denied',
  'branch-protected': 'denied',

  'other-file-system': 'other-file-system',
  'contains-mount': 'other-file-system',

  'not-undoable': 'not-undoable',
  'already-undone': 'not-undoable',

  unsupported: 'unsupported',
  'folder-too-large': 'unsupported',
  'store-inconsistent': 'unsupported',

  unavailable: 'unavailable',
  'disk-error': 'unavailable',
  'store-unreachable': 'unavailable',
  'upload-in-use': 'unavailable',
  'store-busy': 'unavailable',
  'store-full': 'unavailable',
  'store-not-writable': 'unavailable',
  'store-misconfigured': 'unavailable',
  'unexpected-store-response': 'unavailable',
  'bucket-not-found': 'unavailable',
  'invalid-bucket-name': 'unavailable',
  'unknown-access-key': 'unavailable',
  'wrong-secret-key': 'unavailable',
  'expired-access-key': 'unavailable',
  'credentials-missing': 'unavailable',
  'clock-skew': 'unavailable',
  'wrong-region': 'unavailable',
  'list-permission-missing': 'unavailable',
  'token-rejected': 'unavailable',
  'repository-not-found': 'unavailable',
  'branch-not-found': 'unavailable',
  'quota-exhausted': 'unavailable',
  'outcome-unknown': 'unavailable',
  'listing-incomplete': 'unavailable',
  'file-busy': 'unavailable',
  'temporary-folder-full': 'unavailable',
  'cache-unavailable': 'unavailable',
  'database-unavailable': 'unavailable',
  'state-full': 'unavailable',
  'thumbnail-failed': 'unavailable',
  overloaded: 'unavailable',
  'shutting-down': 'unavailable',
  'sessions-unavailable': 'unavailable',
  'identity-provider-unavailable': 'unavailable',
} as const satisfies Readonly<{ [Kind in ErrorKind]: Kind } & Record<string, ErrorKind>>;

/** The code of a `StoreError`. */
export type StoreErrorCode = keyof typeof KIND_OF_CODE;

/** A lock, as an error describes it to other users. */
export interface LockInForce {
  /** The locked file or folder. */
  readonly path: string;
  /** The user who holds the lock; undefined for an anonymous user. */
  readonly user: string | undefined;
  readonly expiresAt: Date;
}

/**
 * The error that stores and rules throw for expected failures. Its message is written for users: it names the problem
 * and the value, and contains no internals. `cause` is the original error.
 */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly code: StoreErrorCode;
  readonly kind: ErrorKind;
  /** Seconds until a retry is useful. Only set with the kind `unavailable`. */
  readonly retryAfter: number | undefined;
  /** The lock that forbids the change. Only set with the kind `locked`. */
  readonly lock: LockInForce | undefined;

  constructor(
    code: StoreErrorCode,
    message: string,
    options: { cause?: unknown; retryAfter?: number; lock?: LockInForce } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.kind = KIND_OF_CODE[code];
    this.retryAfter = options.retryAfter;
    this.lock = options.lock;
  }
}

/** Returns whether `error` is a `StoreError`, and of the given kind if `kind` is set. */
export function isStoreError(error: unknown, kind?: ErrorKind): error is StoreError {
  return error instanceof StoreError && (kind === undefined || error.kind === kind);
}

/** Resolves to the result of `lookup`, or to undefined if it rejects with `not-found`. Rejects with any other error. */
export async function undefinedIfNotFound<Found>(lookup: Promise<Found>): Promise<Found | undefined> {
  try {
    return await lookup;
  } catch (error) {
    if (isStoreError(error, 'not-found')) return undefined;
    throw error;
  }
}

/** Resolves to whether `lookup` finds its target: false for `not-found`. Rejects with any other error. */
export async function exists(lookup: Promise<unknown>): Promise<boolean> {
  return (await undefinedIfNotFound(lookup.then(() => true))) ?? false;
}

/**
 * Returns `reason` if it is an `Error`, otherwise a new `Error`. Abort signals can have any reason, but streams need
 * an `Error`.
 */
export function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

/**
 * Returns a value for use in an error message: quoted, with control characters escaped, at most 120 characters. Keeps the
 * end of a longer one: of a path, the name.
 */
export function quoted(value: string): string {
  const characters = Array.from(value.toWellFormed());
  const shortened = [...characters.slice(0, 80), '…', ...characters.slice(-39)];
  return escapeInvisible(JSON.stringify((characters.length > 120 ? shortened : characters).join('')));
}

/** Escapes characters in JSON that can control a terminal or hide part of a line. */
export function escapeInvisible(json: string): string {
  return json.replace(UNSEEN, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Characters that JSON does not escape: DEL and C1 control characters, line separators, and bidirectional formatting
 * characters.
 */
const UNSEEN = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Maximum characters of a root cause in a message. */
const MAX_ROOT_CAUSE_LENGTH = 300;

/**
 * Returns the message of the innermost cause of an error as one line, for the operator: it can contain internals, such as
 * addresses and commands. Returns undefined if the error has no cause with a message.
 */
export function rootCauseOf(error: unknown): string | undefined {
  let found = '';
  for (let cause = causeOf(error); cause instanceof Error; cause = causeOf(cause)) found = cause.message || found;
  const line = escapeInvisible(found.replace(/[\s\u0000-\u001f]+/g, ' ').trim());
  return line.slice(0, MAX_ROOT_CAUSE_LENGTH) || undefined;
}

/** Returns the message of an error with its root cause, for the operator. */
export function messageWithCause(error: Error): string {
  const cause = rootCauseOf(error);
  return cause === undefined || error.message.includes(cause) ? error.message : `${error.message} Cause: ${cause}`;
}

/** Returns the cause of an error. A failed connection to several addresses has one error for each. */
function causeOf(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined;
  return error instanceof AggregateError ? (error.errors as unknown[])[0] : error.cause;
}

/** Returns the `code` of a Node.js system error, such as `ENOENT`; undefined for any other error. */
export function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error && typeof error.code === 'string')) return undefined;
  if (!error.code.startsWith(UNKNOWN_ERROR)) return error.code;
  return UNNAMED_ERRORS.get(Number(error.code.slice(UNKNOWN_ERROR.length))) ?? error.code;
}

/** The start of the code of errors that libuv has no name for (`UV_ERRNO_MAP` in `uv.h`). Their number follows. */
const UNKNOWN_ERROR = 'Unknown system error -';

/** Their names by number. EUCLEAN exists only on Linux (`asm-generic/errno.h`), and `constants` lacks it. */
const UNNAMED_ERRORS: ReadonlyMap<number, string> = new Map([
  [constants.errno.EDQUOT, 'EDQUOT'],
  [constants.errno.ESTALE, 'ESTALE'],
  [constants.errno.EBADMSG, 'EBADMSG'],
  [117, 'EUCLEAN'],
]);

/** Returns whether the file system is full (ENOSPC) or the quota of the user is exhausted (EDQUOT). */
export function isDiskFull(error: unknown): boolean {
  const code = systemErrorCode(error);
  return code === 'ENOSPC' || code === 'EDQUOT';
}
