import { md5 } from '@noble/hashes/legacy.js';
import { unlessAborted } from '../unless-aborted.ts';
import { requestJson } from './request.ts';
import { asServiceError, ServiceError } from './service-error.ts';
import type { Upload } from './upload.ts';
import { sendBody } from './xhr.ts';

/** What the service returns about parts, as `PresignedParts` in `src/http/schemas.ts`. */
interface PresignedParts {
  readonly partSize: number;
  readonly parts: readonly PresignedPart[];
}

interface PresignedPart {
  readonly number: number;
  readonly offset: number;
  readonly size: number;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Maximum parts in progress, of all uploads: most browsers have six connections to a host. */
const MAX_PARTS_IN_PROGRESS = 4;

/** Parts whose URLs are requested at once. */
const BATCH = 8;

/** Attempts to send a part, and delays after failures. The first part that the bucket ever gets has two attempts. */
const MAX_ATTEMPTS = 4;
const MAX_FIRST_ATTEMPTS = 2;
const RETRY_DELAY_MS = 1000;

/** Milliseconds until a bucket that never responded counts as unreachable. */
const FIRST_CONTACT_TIMEOUT_MS = 15_000;

/** Uploads in a row after which the page no longer tries the bucket. */
const MAX_FAILED_UPLOADS = 3;

/** What this page knows about the bucket. */
const bucket = { hasStored: false, failedUploads: 0, isAvoided: false };

/** The upload of parts failed, and the service might receive them. */
class PartNotSent extends Error {}

/**
 * Sends the content of an upload from `offset` to the bucket, with the URLs that the service returns at `url`. Returns
 * false if the bucket does not receive it all, for example because no CORS rule allows it, so that the rest has to be
 * sent to the service. Throws `ServiceError`, or the signal's reason.
 */
export async function sendToBucket(
  upload: Pick<Upload, 'file' | 'signal' | 'onProgress'>,
  source: { readonly url: string; readonly offset: number },
): Promise<boolean> {
  if (bucket.isAvoided) return false;
  const { signal } = upload;
  try {
    await new Transfer(upload, source.url).send(source.offset);
    bucket.failedUploads = 0;
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (isNotOffered(error)) return false;
    if (!(error instanceof PartNotSent)) throw error;
    try {
      // Without a connection to the service, the bucket is not the reason.
      await requestParts(source.url, [], signal);
    } catch (other) {
      if (!isNotOffered(other)) throw other;
    }
    bucket.failedUploads++;
    bucket.isAvoided = !bucket.hasStored || bucket.failedUploads >= MAX_FAILED_UPLOADS;
    return false;
  }
}

/** Whether the service no longer has the upload, or never presigns parts. */
const isNotOffered = (error: unknown) => error instanceof ServiceError && [404, 409, 501].includes(error.status);

/** The transfer of one content to the bucket. */
class Transfer {
  readonly #upload: Pick<Upload, 'file' | 'onProgress'>;
  readonly #url: string;
  /** Aborts all requests when one has failed. */
  readonly #ending = new AbortController();
  readonly #signal: AbortSignal;
  /** Bytes before the first part, and those that the bucket has confirmed. */
  #confirmed = 0;
  /** Bytes of parts in progress, by their numbers. */
  readonly #sent = new Map<number, number>();

  constructor({ signal, ...upload }: Pick<Upload, 'file' | 'signal' | 'onProgress'>, url: string) {
    this.#upload = upload;
    this.#url = url;
    this.#signal = AbortSignal.any([signal, this.#ending.signal]);
  }

  async send(offset: number): Promise<void> {
    const { partSize } = await requestParts(this.#url, [], this.#signal);
    const first = Math.floor(offset / partSize);
    this.#confirmed = first * partSize;
    const sending: Promise<void>[] = [];
    try {
      for await (const part of this.#parts(first + 1, partSize)) {
        const release = await takeSlot(this.#signal);
        const sent = this.#sendPart(part).finally(release);
        sending.push(sent);
        sent.catch((error: unknown) => this.#ending.abort(error));
        // A bucket without a CORS rule for this page causes one failed request instead of four.
        if (!bucket.hasStored) await sent;
      }
      await Promise.all(sending);
    } catch (error) {
      this.#ending.abort(error);
      // No request of this upload is in progress when it continues in another way.
      await Promise.allSettled(sending);
      throw this.#ending.signal.reason;
    }
  }

  /** Yields the parts from a number on, with their URLs. */
  async *#parts(from: number, partSize: number): AsyncGenerator<PresignedPart> {
    const count = Math.ceil(this.#upload.file.size / partSize);
    for (let start = from; start <= count; start += BATCH) {
      const batch = [];
      for (let number = start; number < start + BATCH && number <= count; number++) {
        const offset = (number - 1) * partSize;
        batch.push({ number, md5: await this.#md5Of({ offset, size: partSize }) });
      }
      yield* (await requestParts(this.#url, batch, this.#signal)).parts;
    }
  }

  /** Sends a part until the bucket has confirmed it. Throws `PartNotSent`. */
  async #sendPart(presigned: PresignedPart): Promise<void> {
    const { number, size } = presigned;
    let part = presigned;
    for (let attempt = 1; ; attempt++) {
      const status = await this.#put(part);
      if (status >= 200 && status < 300) {
        bucket.hasStored = true;
        this.#confirmed += size;
        this.#report(number);
        return;
      }
      this.#report(number);
      const isUnreachable = status === 0 && !bucket.hasStored;
      const maxAttempts = bucket.hasStored ? MAX_ATTEMPTS : MAX_FIRST_ATTEMPTS;
      // The bucket responds with 404 when the upload has ended.
      if (isUnreachable || status === 404 || attempt >= maxAttempts) throw new PartNotSent();
      if (status === 0 || status === 429 || status >= 500)
        await delay(RETRY_DELAY_MS * 2 ** (attempt - 1), this.#signal);
      // The URL has expired, or the file has changed.
      else part = await this.#presignAgain(part);
    }
  }

  async #presignAgain(part: PresignedPart): Promise<PresignedPart> {
    const { number } = part;
    const { parts } = await requestParts(this.#url, [{ number, md5: await this.#md5Of(part) }], this.#signal);
    return parts[0] ?? part;
  }

  /** Sends a part once. Returns the status of the response; 0 without one. */
  async #put({ number, offset, size, url, headers }: PresignedPart): Promise<number> {
    try {
      const { status } = await sendBody({
        method: 'PUT',
        url,
        headers,
        body: this.#upload.file.slice(offset, offset + size),
        signal: this.#signal,
        stallTimeout: bucket.hasStored ? undefined : FIRST_CONTACT_TIMEOUT_MS,
        onProgress: (sent) => this.#report(number, sent),
      });
      return status;
    } catch (error) {
      this.#signal.throwIfAborted();
      if (error instanceof ServiceError) return error.status;
      throw error;
    }
  }

  /** Reports the progress. `sent` are the bytes of a part that is in progress. */
  #report(number: number, sent?: number): void {
    if (sent === undefined) this.#sent.delete(number);
    else this.#sent.set(number, sent);
    const { file, onProgress } = this.#upload;
    let bytes = this.#confirmed;
    for (const each of this.#sent.values()) bytes += each;
    onProgress(Math.min(bytes, file.size));
  }

  /** Returns the MD5 of a part in Base64. Reads it in pieces, between which the page responds to the user. */
  async #md5Of({ offset, size }: Pick<PresignedPart, 'offset' | 'size'>): Promise<string> {
    const hash = md5.create();
    try {
      const reader = this.#upload.file
        .slice(offset, offset + size)
        .stream()
        .getReader();
      for (let read = await reader.read(); !read.done; read = await reader.read()) {
        hash.update(read.value);
        this.#signal.throwIfAborted();
      }
    } catch (error) {
      this.#signal.throwIfAborted();
      throw asServiceError(error);
    }
    return btoa(String.fromCharCode(...hash.digest()));
  }
}

function requestParts(
  url: string,
  parts: readonly { readonly number: number; readonly md5: string }[],
  signal: AbortSignal,
): Promise<PresignedParts> {
  return requestJson(url, { method: 'POST', body: { parts }, signal });
}

let freeSlots = MAX_PARTS_IN_PROGRESS;
const waiting: (() => void)[] = [];

/** Waits until a part may be sent, and returns the function that ends it. */
async function takeSlot(signal: AbortSignal): Promise<() => void> {
  const release = () => {
    const next = waiting.shift();
    if (next) next();
    else freeSlots++;
  };
  if (freeSlots > 0) {
    freeSlots--;
    return release;
  }
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.push(resolve);
  try {
    await unlessAborted(promise, signal);
  } catch (error) {
    void promise.then(release);
    throw error;
  }
  return release;
}

async function delay(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await unlessAborted(promise, signal).finally(() => clearTimeout(timer));
}
