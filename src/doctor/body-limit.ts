import { type Response, uploadForm } from '../checks/requests.ts';
import { type AddressSubject, requestService } from './address.ts';

const KIB = 2 ** 10;
const MIB = 2 ** 20;

/** Bytes of parts that suit buckets, whose parts have this size. */
const PART_UNIT = 8 * MIB;

/** Bytes of a body that every limit excludes. */
export const UNLIMITED = 2 ** 40;

/** Bytes by which a form is larger than its file, at most. */
export const FORM_BYTES = 4 * KIB;

/** The largest body that a proxy accepts, to the next round size. */
export interface BodyLimit {
  /** Bytes that pass; 0 if none of the tried sizes does. */
  readonly accepted: number;
  /** Bytes that the proxy refuses; undefined if it has no limit. */
  readonly refused: number | undefined;
}

/**
 * Finds the limit of a proxy by requests that announce a body, and never send it. A proxy with a limit refuses them with
 * 413. Otherwise, the service refuses them, or a proxy that buffers bodies does not respond.
 */
export async function findBodyLimit(
  subject: AddressSubject,
  chunkSize: number,
  signal: AbortSignal,
): Promise<BodyLimit> {
  const { announce } = await prepareAnnouncements(subject, signal);
  const isRefused = async (size: number) => {
    const response = await announce(size);
    return response?.status === 413 && response.envelope === undefined;
  };
  if (!(await isRefused(UNLIMITED))) return { accepted: UNLIMITED, refused: undefined };
  const sizes = sizesUpTo(chunkSize);
  // All sizes before `low` pass, and those from `high` on are refused.
  let [low, high] = [0, sizes.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isRefused((sizes[middle] ?? 0) + FORM_BYTES)) high = middle;
    else low = middle + 1;
  }
  return { accepted: sizes[low - 1] ?? 0, refused: sizes[low] ?? UNLIMITED };
}

/** Returns round sizes in ascending order: powers of two, `chunkSize`, and multiples of the part size of buckets below it. */
function sizesUpTo(chunkSize: number): number[] {
  const sizes = new Set([chunkSize]);
  for (let size = 64 * KIB; size < UNLIMITED; size *= 2) sizes.add(size);
  for (let size = PART_UNIT; size < Math.min(chunkSize, 64 * PART_UNIT); size += PART_UNIT) sizes.add(size);
  return [...sizes].toSorted((left, right) => left - right);
}

/** Writes a number of bytes exactly: `64 MiB`, or without the space, as in a setting. */
export function formatSize(bytes: number, space = ' '): string {
  const units = ['TiB', 'GiB', 'MiB', 'KiB'] as const;
  const index = units.findIndex((_, position) => bytes % 2 ** (10 * (units.length - position)) === 0);
  const unit = units[index];
  return unit === undefined ? `${bytes}${space}bytes` : `${bytes / 2 ** (10 * (units.length - index))}${space}${unit}`;
}

/** A multiple of the time of a complete request, with a minimum in milliseconds. */
const EARLY_RESPONSE_FACTOR = 20;
const MIN_EARLY_RESPONSE_MS = 2000;

/** Sends a request that announces a body of this size, and never sends it. Resolves to undefined without a response. */
export type AnnounceBody = (size: number) => Promise<Response | undefined>;

/** A request with a body that the service refuses as soon as it has the headers. */
export interface RefusedRequest {
  readonly path: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/**
 * Measures how long the service takes to refuse a complete request, and prepares incomplete ones, which it refuses as soon as
 * it has the headers. Nothing is stored. Default: a cross-site upload.
 */
export async function prepareAnnouncements(
  subject: AddressSubject,
  signal: AbortSignal,
  { path, ...refused }: RefusedRequest = crossSiteUpload(),
): Promise<{ readonly complete: Response; readonly announce: AnnounceBody }> {
  const start = performance.now();
  const complete = await requestService(subject, path, { ...refused, signal });
  const timeoutMs = Math.max(MIN_EARLY_RESPONSE_MS, Math.ceil(EARLY_RESPONSE_FACTOR * (performance.now() - start)));
  return {
    complete,
    async announce(length) {
      const timeout = AbortSignal.timeout(timeoutMs);
      try {
        const request = { ...refused, length, signal: AbortSignal.any([signal, timeout]) };
        return await requestService(subject, path, request);
      } catch (error) {
        if (timeout.aborted && !signal.aborted) return undefined;
        throw error;
      }
    },
  };
}

function crossSiteUpload(): RefusedRequest {
  const { type, body } = uploadForm('', '', Buffer.alloc(0));
  return { path: '/upload', method: 'POST', headers: { 'content-type': type, 'sec-fetch-site': 'cross-site' }, body };
}
