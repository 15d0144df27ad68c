import { median } from './figures.ts';
import { measureServer } from './measure.ts';
import type { BenchResponse } from './requests.ts';
import { send } from './requests.ts';
import type { ScaleStore } from './scale-stores.ts';
import type { RunningServer } from './servers.ts';
import { startServer } from './servers.ts';
import type { Calls, Family } from './synthetic-store.ts';

/** The result of one operation on a folder of a number of files. */
export interface Outcome {
  readonly operation: string;
  readonly count: number;
  readonly seconds: number;
  /** Null if it was not measured. */
  readonly cpuSeconds: number | null;
  /** Memory of the service in bytes; null if it was not measured. */
  readonly peakMemory: number | null;
  /** Requests to the store by kind; absent for a disk. */
  readonly calls?: Calls;
  /** Why it did not succeed, if it did not. */
  readonly failure?: string;
}

/**
 * The folders of one size: one with all files, and one with folders of 1,000 files to copy, to copy to an existing copy, to
 * move, and to delete.
 */
interface Folders {
  readonly flat: Family;
  readonly deep: Family;
  readonly twin: Family;
  readonly moving: Family;
  readonly doomed: Family;
}

function foldersOf(count: number): Folders {
  const deepIn = (prefix: string): Family => ({ prefix, count, shape: 'deep' });
  return {
    flat: { prefix: 'flat/', count, shape: 'flat' },
    deep: deepIn('deep/'),
    twin: { ...deepIn('twin/'), copyOf: 'deep/' },
    moving: deepIn('moving/'),
    doomed: deepIn('doomed/'),
  };
}

interface Operation {
  readonly name: string;
  /** Repetitions of an operation that changes nothing; the result is the median. */
  readonly rounds: number;
  readonly families: readonly (keyof Folders)[];
  work(running: RunningServer, signal: AbortSignal, folders: Folders): Promise<void>;
  /** Rejects unless the operation had the expected effect. */
  check(place: ScaleStore, folders: Folders, signal: AbortSignal): Promise<void>;
}

const operations: readonly Operation[] = [
  {
    name: 'list page 1',
    rounds: 5,
    families: ['flat'],
    work: async (running, signal) => void (await listPage(running, 'flat/', undefined, signal)),
    check: async () => {},
  },
  {
    name: 'list all pages',
    rounds: 1,
    families: ['flat'],
    work: listAll,
    check: async () => {},
  },
  {
    name: 'compare',
    rounds: 1,
    families: ['deep', 'twin'],
    work: (running, signal) => transfer(running, ['copy', 'deep', 'twin'], 409, signal),
    check: (place, { twin }, signal) => place.requireFamily(twin, 'twin/', signal),
  },
  {
    name: 'copy',
    rounds: 1,
    families: ['deep'],
    work: (running, signal) => transfer(running, ['copy', 'deep', 'copied'], 200, signal),
    check: (place, { deep }, signal) => place.requireFamily(deep, 'copied/', signal),
  },
  {
    name: 'move',
    rounds: 1,
    families: ['moving'],
    work: (running, signal) => transfer(running, ['move', 'moving', 'moved'], 200, signal),
    check: async (place, { moving }, signal) => {
      await place.requireNothing('moving/', signal);
      await place.requireFamily(moving, 'moved/', signal);
    },
  },
  {
    name: 'delete',
    rounds: 1,
    families: ['doomed'],
    work: async (running, signal) => {
      expect('delete', 200, await request(running, 'DELETE', '/delete_folder/doomed', undefined, signal));
    },
    check: (place, _, signal) => place.requireNothing('doomed/', signal),
  },
];

export const operationNames = operations.map(({ name }) => name);

/** The folders of an operation. */
export function familiesOf(count: number, wanted: readonly string[]): Family[] {
  const used = operations.filter(({ name }) => wanted.includes(name)).flatMap(({ families }) => families);
  return [...new Set(used)].map((name) => foldersOf(count)[name]);
}

/** Runs all requested operations on folders of this size, each with a new service. */
export async function measureSize(
  place: ScaleStore,
  count: number,
  wanted: readonly string[],
  signal: AbortSignal,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const operation of operations.filter(({ name }) => wanted.includes(name))) {
    process.stderr.write(`bench: ${operation.name}, ${count.toLocaleString('en-US')} files\n`);
    const outcome = await measureOperation(operation, place, count, signal);
    outcomes.push(outcome);
  }
  return outcomes;
}

async function measureOperation(
  operation: Operation,
  place: ScaleStore,
  count: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const folders = foldersOf(count);
  await using running = await startServer(place.server, place.newSite(), signal);
  // So that no figure includes loading the code of listings.
  for (let warmUp = 0; warmUp < 3; warmUp++) await listPage(running, '', undefined, signal);
  await place.takeCalls(signal);
  const seconds: number[] = [];
  const [failure, cost] = await measureServer(running.pid, async () => {
    for (let round = 0; round < operation.rounds; round++) {
      const began = performance.now();
      try {
        await operation.work(running, signal, folders);
      } catch (error) {
        signal.throwIfAborted();
        seconds.push((performance.now() - began) / 1000);
        return error instanceof Error ? error.message : String(error);
      }
      seconds.push((performance.now() - began) / 1000);
    }
    return undefined;
  });
  const calls = await place.takeCalls(signal);
  if (failure === undefined) await operation.check(place, folders, signal);
  return {
    operation: operation.name,
    count,
    seconds: median(seconds),
    cpuSeconds: cost.cpuSeconds === null ? null : cost.cpuSeconds / operation.rounds,
    peakMemory: cost.peakMemory,
    ...(calls && { calls: perRound(calls, operation.rounds) }),
    ...(failure !== undefined && { failure }),
  };
}

function perRound(calls: Calls, rounds: number): Calls {
  return Object.fromEntries(Object.entries(calls).map(([name, count]) => [name, Math.round(count / rounds)]));
}

async function listAll(running: RunningServer, signal: AbortSignal, { flat }: Folders): Promise<void> {
  let found = 0;
  let cursor: string | undefined;
  do {
    const page = await listPage(running, flat.prefix, cursor, signal);
    found += page.entries.length;
    cursor = page.cursor;
  } while (cursor !== undefined);
  if (found !== flat.count) throw new Error(`${found} entries were listed, not ${flat.count}`);
}

interface Page {
  readonly entries: readonly unknown[];
  readonly cursor?: string;
}

async function listPage(
  running: RunningServer,
  folder: string,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Page> {
  const query = new URLSearchParams({ prefix: folder, ...(cursor !== undefined && { cursor }) });
  const response = await request(running, 'GET', `/?${query.toString()}`, undefined, signal);
  expect('list', 200, response);
  return JSON.parse(response.body.toString()) as Page;
}

async function transfer(
  running: RunningServer,
  [operation, source, destination]: readonly ['copy' | 'move', string, string],
  status: number,
  signal: AbortSignal,
): Promise<void> {
  const body = JSON.stringify({ source, destination, is_folder: true });
  expect(operation, status, await request(running, 'POST', `/${operation}`, body, signal));
}

/** An hour, so that even a slow operation results in a figure. */
const timeoutMs = 3600;

async function request(
  { url }: RunningServer,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body: string | undefined,
  signal: AbortSignal,
): Promise<BenchResponse> {
  const headers = { ...(body !== undefined && { 'content-type': 'application/json' }) };
  return await send(
    { method, url: url(path), headers, seconds: timeoutMs, ...(body !== undefined && { body }) },
    signal,
  );
}

function expect(what: string, wanted: number, { status, body }: BenchResponse): void {
  if (status !== wanted) throw new Error(`${what}: ${status} ${body.toString().slice(0, 300)}`);
}
