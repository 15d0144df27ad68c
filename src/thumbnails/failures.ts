import { parseRenderError, type RenderError, type RenderFault, serializeRenderError } from './render-error.ts';

/** What a verdict on an image depends on besides the image. */
export interface FailureOptions {
  /** Bytes that a drawing process may take. */
  readonly memoryLimit: number;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/**
 * Milliseconds for which a failure is remembered. An image stays as it is, so a day only bounds how long a verdict of
 * an older version of a decoder lasts. A slow image may have met a busy machine: it is tried again after a minute. A
 * fault without a time is not remembered.
 */
const REMEMBERED_FOR: Partial<Readonly<Record<RenderFault, number>>> = {
  unsupported: DAY,
  damaged: DAY,
  'too-many-pixels': DAY,
  'too-large-unpacked': DAY,
  'too-much-memory': DAY,
  'too-slow': MINUTE,
};

/** Returns the cache entry that remembers a failure, or undefined if it must not be remembered. */
export function encodeFailure(error: RenderError, { memoryLimit, now }: FailureOptions): Buffer | undefined {
  const time = REMEMBERED_FOR[error.fault];
  if (time === undefined) return undefined;
  return Buffer.from(JSON.stringify({ until: now + time, memoryLimit, error: serializeRenderError(error) }));
}

/** Whether a cache entry is a failure. A thumbnail is a JPEG, which never begins with `{`. */
export function isFailure(entry: Buffer): boolean {
  return entry[0] === 0x7b;
}

/** Returns the failure in a cache entry, or undefined if it is no longer valid. */
export function decodeFailure(entry: Buffer, { memoryLimit, now }: FailureOptions): RenderError | undefined {
  const parsed: unknown = JSON.parse(entry.toString());
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  if (!('until' in parsed && 'memoryLimit' in parsed && 'error' in parsed)) return undefined;
  if (typeof parsed.until !== 'number' || parsed.until <= now || parsed.memoryLimit !== memoryLimit) return undefined;
  return parseRenderError(String(parsed.error));
}
