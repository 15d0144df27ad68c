import type { IncomingMessage } from 'node:http';
import { sendTold, type TellRequest } from '../tell-request.ts';
import { readRefusal, toldOf } from './answers.ts';
import { createClock, WRONG } from './clock.ts';
import { escapeKey, type Key } from './keys.ts';
import { Refusal } from './refusal.ts';
import { createRetries } from './retries.ts';
import { createSigner, EMPTY_HASH, type Query, queryString, type Signer } from './signature.ts';
import type { Site } from './site.ts';
import { QUICK } from './time-outs.ts';
import { openWire, type Wire } from './wire.ts';

/** A request without a body. */
export interface Question {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE';
  /** The object that is asked for; the bucket as a whole where undefined. */
  readonly key?: Key;
  readonly query?: Query;
  /** Those that are undefined are left out. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

/** How a request is sent: what the client for S3 takes beside a command. */
export interface SendOptions {
  readonly abortSignal?: AbortSignal;
  /** Milliseconds until the head of the answer. */
  readonly requestTimeout: number;
}

/**
 * The way to ask a bucket without the client for S3, for what is asked often: signed here, sent over connections that are
 * kept, tried again as the client does.
 */
export interface Asking {
  /**
   * Asks, and has the answer read. Rejects with a `Refusal`, or with what came in between. What `read` rejects with counts
   * as a failure of the request, which may be tried again.
   */
  ask<Answer>(
    question: Question,
    options: SendOptions,
    read: (response: IncomingMessage) => Promise<Answer>,
  ): Promise<Answer>;
  /** A URL by which whoever has it may ask so for `expires` seconds. */
  presign(question: Pick<Question, 'method' | 'key' | 'query'>, expires: number): Promise<string>;
  close(): void;
}

export interface AskingOptions {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  locate(): Promise<Site>;
  /** Told of each request that is sent again. */
  retried(): void;
  /** Told of each request that was sent. */
  readonly asked?: TellRequest | undefined;
}

export function createAsking({ accessKeyId, secretAccessKey, locate, retried, asked }: AskingOptions): Asking {
  const clock = createClock();
  const retries = createRetries(retried);
  let place: Promise<Place> | undefined;

  const findPlace = (): Promise<Place> => {
    place ??= locate().then(
      (site) => ({
        site,
        host: new URL(site.origin).host,
        wire: openWire(site.origin),
        signer: createSigner({ accessKeyId, secretAccessKey, ...site }),
      }),
      (error: unknown) => {
        place = undefined;
        throw error;
      },
    );
    return place;
  };

  const sendOnce = async ({ site, host, wire, signer }: Place, question: Question, options: SendOptions) => {
    const { method, key, query = {} } = question;
    const path = pathOf(site, key);
    const headers: Record<string, string> = { host };
    for (const [name, value] of Object.entries(question.headers ?? {})) if (value !== undefined) headers[name] = value;
    const signed = signer.sign({ method, path, query, headers }, EMPTY_HASH, Date.now() + clock.offset());
    const search = queryString(query);
    const send = () =>
      wire.send({
        method,
        target: search === '' ? path : `${path}?${search}`,
        // Not signed, as others on the way may change it.
        headers: { ...signed, 'user-agent': 'holdall' },
        timeout: options.requestTimeout,
        signal: options.abortSignal,
      });
    return sendTold(asked, { method, url: site.origin + path }, send, toldOf);
  };

  const asking: Asking = {
    async ask(question, options, read) {
      const found = await findPlace();
      const { abortSignal } = options;
      for (let attempt = 1, taken = 0; ; attempt++) {
        try {
          const offset = clock.offset();
          const response = await sendOnce(found, question, options);
          clock.learn(response.headers);
          const isClockCorrected = Math.abs(clock.offset() - offset) >= WRONG;
          const isRefused = (response.statusCode ?? 0) >= 300;
          if (isRefused) throw await readRefusal(response, { isClockCorrected });
          const answer = await read(response);
          retries.succeeded(taken);
          return answer;
        } catch (error) {
          abortSignal?.throwIfAborted();
          if (error instanceof Refusal) error.attempts = attempt;
          taken = await retries.again(error, attempt, abortSignal);
          if (taken === 0) throw error;
        }
      }
    },

    async presign({ method, key, query = {} }, expires) {
      const { site, host, signer } = await findPlace();
      const path = pathOf(site, key);
      // Any answer tells the time, and a refusal too; nobody would say that a URL is of another.
      if (clock.isSetAnew()) await asking.ask({ method: 'HEAD' }, { requestTimeout: QUICK }, drain).catch(() => {});
      const time = Date.now() + clock.offset();
      return `${site.origin}${path}?${signer.presign({ method, path, query, headers: { host } }, expires, time)}`;
    },

    close() {
      place?.then(({ wire }) => wire.close()).catch(() => {});
    },
  };
  return asking;
}

const drain = async (response: IncomingMessage) => void response.resume();

interface Place {
  readonly site: Site;
  readonly host: string;
  readonly wire: Wire;
  readonly signer: Signer;
}

function pathOf({ path }: Site, key: Key | undefined): string {
  if (key !== undefined) return path + escapeKey(key);
  return path === '/' ? path : path.slice(0, -1);
}
