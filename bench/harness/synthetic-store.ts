import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { start } from '../../testing/processes.ts';
import { findFreePort } from '../../testing/servers/free-port.ts';
import type { ObjectStore as Account } from '../../testing/servers/object-store.ts';
import { send } from './requests.ts';
import type { Rates } from './synthetic-rates.ts';

/** Initial objects: `count` of them below `prefix`, in one folder or in folders of 1,000. */
export interface Family {
  readonly prefix: string;
  readonly count: number;
  readonly shape: 'flat' | 'deep';
  /** The prefix of the family that these are copies of, if they are. */
  readonly copyOf?: string;
}

export interface SyntheticSettings extends Rates {
  readonly port: number;
  readonly bucket: string;
  readonly families: readonly Family[];
  /** Milliseconds from the end of a request to its response. */
  readonly latency: number;
}

/** Requests by operation, and those rejected by the rate limit. */
export type Calls = Readonly<Record<string, number>>;

/**
 * A synthetic S3 store in a separate process, with the latency of a remote store and the rate limit of one prefix of Amazon
 * S3. Objects are computed, so that a million needs no disk space. It ignores signatures, and does not support multipart
 * uploads.
 */
export interface SyntheticStore extends AsyncDisposable {
  readonly account: Account;
  readonly bucket: string;
  readonly pid: number;
  /** All requests since the last call. */
  takeCalls(signal: AbortSignal): Promise<Calls>;
  /**
   * Rejects unless exactly the objects of a family are below `prefix`, with their generated contents; or no objects, with
   * `none`.
   */
  requireFamily(family: Family, prefix: string, signal: AbortSignal): Promise<void>;
  requireNothing(prefix: string, signal: AbortSignal): Promise<void>;
}

/** Latencies as measured for stores in another city, and the rates that Amazon S3 guarantees per partitioned prefix. */
export const DEFAULT_LATENCY_MS = 30;
export const DEFAULT_RATES: Rates = { writes: 3500, reads: 5500 };

export async function startSyntheticStore(
  {
    families,
    latency = DEFAULT_LATENCY_MS,
    rates = DEFAULT_RATES,
  }: Readonly<{ families: readonly Family[]; latency?: number; rates?: Rates }>,
  signal: AbortSignal,
): Promise<SyntheticStore> {
  const settings: SyntheticSettings = { port: await findFreePort(), bucket: 'synthetic', families, latency, ...rates };
  const child = start({
    file: process.execPath,
    args: [join(import.meta.dirname, 'synthetic-store-process.ts'), JSON.stringify(settings)],
  });
  const endpoint = `http://127.0.0.1:${settings.port}`;
  const control = async (path: string): Promise<string> => {
    const { status, body } = await send({ url: new URL(path, endpoint), seconds: 120 }, signal);
    if (status !== 200) throw new Error(`the synthetic store: ${body.toString()}`);
    return body.toString();
  };
  const isUp = () =>
    control('/-/calls').then(
      () => true,
      () => false,
    );
  while (!(await isUp())) {
    signal.throwIfAborted();
    if (await Promise.race([sleep(50, undefined), child.ended]))
      throw new Error(`the synthetic store: ${child.lastOutput()}`);
  }
  const check = async (prefix: string, family?: Family) => {
    const query = new URLSearchParams({ prefix, ...(family && { family: JSON.stringify(family) }) });
    await control(`/-/check?${query.toString()}`);
  };
  return {
    account: { endpoint, region: 'us-east-1', accessKeyId: 'synthetic', secretAccessKey: 'synthetic' },
    bucket: settings.bucket,
    pid: child.pid,
    takeCalls: async () => JSON.parse(await control('/-/calls')) as Calls,
    requireFamily: (family, prefix) => check(prefix, family),
    requireNothing: (prefix) => check(prefix),
    [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
  };
}
