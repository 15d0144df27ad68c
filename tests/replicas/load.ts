import assert from 'node:assert/strict';
import { concurrently } from '../../src/concurrency/concurrently.ts';
import { until } from '../../testing/until.ts';
import { type HttpResponse, send } from '../http/client.ts';
import { type Client, createClient, fetchFile, ROLES, type Service } from './clients.ts';
import type { Operation } from './operations.ts';

/** Clients that send requests concurrently. */
export interface Load {
  /** The folder in which the clients work. */
  readonly home: string;
  /** All requests so far. */
  operations(): Operation[];
  /** Whether this number of successive requests of each client was acknowledged, since a time of `performance.now()`. */
  isServed(since: number, inARow: number): boolean;
  /** Stops the clients. Each repeats its last request until it is acknowledged. */
  stop(): Promise<void>;
  /** Checks every file after the load has stopped. Returns the files whose state the responses do not allow. */
  lost(): Promise<string[]>;
}

/** The amount of load. */
export interface Size {
  readonly clientsOfRole: number;
  /** Milliseconds for which a client pauses after each request. */
  readonly rest: number;
}

/** Starts clients of each role, which use folders below `home` until they are stopped. */
export function startLoad(service: Service, home: string, { clientsOfRole, rest }: Size): Load {
  const roles = Object.keys(ROLES) as (keyof typeof ROLES)[];
  const clients = roles.flatMap((role) =>
    Array.from({ length: clientsOfRole }, (_, index) => createClient(service, role, `${home}${role} ${index}/`, rest)),
  );
  let isStopping = false;
  const working = Promise.all(
    clients.map(async (client) => {
      while (!isStopping) await client.work();
    }),
  );
  // Checked by `stop`.
  working.catch(() => {});

  return {
    home,
    operations: () => clients.flatMap(({ operations }) => operations),
    isServed: (since, inARow) =>
      clients.every(({ operations }) => {
        const last = operations.slice(-inARow);
        return (
          last.length === inARow && last.every(({ outcome, began }) => outcome === 'acknowledged' && began >= since)
        );
      }),
    async stop() {
      isStopping = true;
      await working;
    },
    async lost() {
      const lost = clients.flatMap(({ wrong }) => wrong);
      for (const client of clients) lost.push(...(await missing(service.port, client)));
      return lost;
    },
  };
}

/** The number of files that are checked concurrently. */
const AT_ONCE = 8;

/** Returns the files of a client whose state its responses do not allow: lost, truncated, or deleted but present. */
async function missing(port: number, { home, ledger }: Client): Promise<string[]> {
  const found: string[] = [];
  const listed = await filesBelow(port, home);
  for (const path of ledger.paths()) {
    if (ledger.mustShow(path) && !listed.includes(path)) found.push(`not listed: ${path}`);
  }
  await concurrently(each(new Set([...ledger.paths(), ...listed])), AT_ONCE, async (path) => {
    const { status, body } = await whenNotBusy(() => fetchFile(port, path));
    const bytes = status === 404 ? undefined : body;
    if (status !== 200 && bytes) found.push(`${path}: ${status} ${body.toString()}`);
    else if (!ledger.allows(path, bytes)) found.push(`${path}: ${bytes ? `${bytes.length} other bytes` : 'gone'}`);
  });
  return found;
}

/** Returns all files below a folder by listings. Returns none if the folder does not exist. */
async function filesBelow(port: number, folder: string): Promise<string[]> {
  const { status, body } = await whenNotBusy(() => send(port, `/?prefix=${encodeURIComponent(folder)}`));
  if (status === 404) return [];
  assert.equal(status, 200, `${folder}: ${body.toString()}`);
  const { entries } = JSON.parse(body.toString()) as { entries: { type: string; path: string }[] };
  const below = entries.map(async ({ type, path }) => (type === 'folder' ? filesBelow(port, path) : [path]));
  return (await Promise.all(below)).flat();
}

/** Repeats a request until the service is not too busy for it. */
const whenNotBusy = (request: () => Promise<HttpResponse>): Promise<HttpResponse> =>
  until('the service is not too busy', async () => {
    const response = await request();
    return response.status !== 503 && response;
  });

async function* each<Item>(items: Iterable<Item>): AsyncGenerator<Item> {
  yield* items;
}
