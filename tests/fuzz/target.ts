import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { walk } from '../../src/files/fallbacks.ts';
import { parseFolder } from '../../src/model/path.ts';
import { atEnd, isRunning, startHoldall } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { memory } from '../contract/backend.ts';
import { BOUNDARY, escapePath, formOf, send } from '../http/client.ts';
import { startService } from '../http/service.ts';
import { anonymousMemory, MAX_MEMORY_GROWTH_BYTES } from '../process/memory.ts';
import { untilNoTemporaryFiles } from '../process/temporary-files.ts';
import type { Tree } from './acknowledged.ts';

/** A running service, and how to look behind it. */
export interface Target {
  readonly port: number;
  /** All that is stored, looked at where it lies. */
  tree(): Promise<Tree>;
  /** Puts back what is there at the beginning, and nothing else. */
  restore(tree: Tree): Promise<void>;
  /** Fails where the service has come to harm, or keeps anything of requests that have ended. */
  assertWell(): Promise<void>;
}

export interface TargetOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** What proves who asks, where that has to be proven. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether clients that do not go on are given up after a second: the least that can be set. */
  readonly isImpatient?: boolean;
}

/** The service as it is built, on a folder of a disk. */
export async function startOnDisk(
  t: TestContext,
  { settings, headers = {}, isImpatient = false }: TargetOptions = {},
): Promise<Target> {
  const timeoutMs: Record<string, string> = isImpatient ? { HEADERS_TIMEOUT: '1', IDLE_TIMEOUT: '1' } : {};
  const limits = { RATE_LIMIT: '0', MAX_EVENT_LOOP_DELAY: '0', ...timeoutMs };
  const holdall = await startHoldall(t, { settings: { AUDIT_LOG: 'off', ...limits, ...settings } });
  const { pid, port, root, log } = holdall;
  assert.equal((await send(port, '/-/openapi.json', { headers })).status, 200);
  const open = openFiles(pid);
  const memoryBefore = await anonymousMemory(pid);
  const tree = async () => Object.fromEntries(entriesBelow(root));
  return {
    port,
    tree,
    restore: (wanted) => restore({ port, tree, headers }, wanted),
    async assertWell() {
      assert.equal((await send(port, '/-/health/ready')).status, 200);
      assert.deepEqual(holdall.serving(), [pid]);
      assert.ok(isRunning(pid));
      assertQuiet(log);
      const other = holdall
        .printed()
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('{"level":'));
      assert.deepEqual(other, [], 'Nothing is printed but the log.');
      await untilNoTemporaryFiles(root);
      await until('no file and no connection is open any more', () => openFiles(pid) <= open);
      await until(
        'the memory is given back',
        async () => (await anonymousMemory(pid)) < memoryBefore + MAX_MEMORY_GROWTH_BYTES,
      );
    },
  };
}

/** The application in this process, on a store in memory, which composes what the disk does in one step. */
export async function startInMemory(t: TestContext, { isImpatient = false }: TargetOptions = {}): Promise<Target> {
  const warnings: Error[] = [];
  const warned = (warning: Error) => void warnings.push(warning);
  process.on('warning', warned);
  atEnd(t, () => process.off('warning', warned));
  const limits = isImpatient ? { headersTimeout: 1, idleTimeout: 1 } : {};
  const service = await startService(memory, { limits });
  atEnd(t, () => service.stop());
  const { port, store, log } = service;
  const tree = async () => {
    const found: [string, string | null][] = [];
    for await (const entry of walk(store, parseFolder(''))) {
      const { path } = entry;
      const text =
        entry.kind === 'folder'
          ? null
          : await textOf(entry.size, async () => buffer((await store.read(entry.path)).body));
      found.push([path, text]);
    }
    return Object.fromEntries(found);
  };
  return {
    port,
    tree,
    restore: (wanted) => restore({ port, tree }, wanted),
    async assertWell() {
      assert.equal((await send(port, '/-/health/ready')).status, 200);
      assertQuiet(log);
      assert.deepEqual(warnings, []);
    },
  };
}

/** Levels of the log from which on a line is a fault of the service. */
const ERROR = 50;

function assertQuiet(log: readonly Readonly<Record<string, unknown>>[]): void {
  const faults = log.filter(({ level }) => Number(level) >= ERROR);
  assert.deepEqual(faults, [], 'Nothing of it was a fault of the service.');
}

/**
 * Returns the number of files and connections that a process has open, without its event descriptors and its database,
 * which it opens when it first needs them.
 */
function openFiles(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((name) => {
    try {
      const target = readlinkSync(join(folder, name));
      return /^(?:socket:|\/(?!dev\/))/.test(target) && !target.includes('/holdall.sqlite');
    } catch {
      // It was closed meanwhile.
      return false;
    }
  }).length;
}

const LARGEST_TEXT = 64 * 1024;

/** What a file holds, to be compared; of a large one, how much. */
const sizeOf = (size: number) => `${size} bytes`;

const textOf = async (size: number, read: () => Promise<Buffer>) =>
  size > LARGEST_TEXT ? sizeOf(size) : (await read()).toString('latin1');

/** Everything below a folder, but the service's own. Read at once, as nobody else has to be served. */
function entriesBelow(root: string, folder = ''): [string, string | null][] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((child): [string, string | null][] => {
    const path = folder + child.name;
    if (path === '.holdall') return [];
    if (child.isDirectory()) return [[`${path}/`, null], ...entriesBelow(root, `${path}/`)];
    const { size } = statSync(join(root, path));
    return [[path, size > LARGEST_TEXT ? sizeOf(size) : readFileSync(join(root, path), 'latin1')]];
  });
}

interface Place {
  readonly port: number;
  readonly tree: () => Promise<Tree>;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** By requests, so that the service knows of it. */
async function restore({ port, tree, headers = {} }: Place, wanted: Tree): Promise<void> {
  const post = async (path: string, body?: Buffer, type = 'multipart/form-data') => {
    const about = { ...headers, 'content-type': `${type}; boundary=${BOUNDARY}` };
    const response = await send(port, path, { method: 'POST', headers: about, body });
    assert.equal(response.status, 200, `${path}: ${response.body.toString()}`);
  };
  const there = await tree();
  for (const path of Object.keys(there).filter((each) => !Object.hasOwn(wanted, each))) {
    // Folders come before what is in them.
    const isGone = Object.keys(there).some(
      (above) => above.endsWith('/') && !Object.hasOwn(wanted, above) && path !== above && path.startsWith(above),
    );
    if (!isGone) await post(`/delete${path.endsWith('/') ? '_folder' : ''}/${escapePath(path)}`);
  }
  for (const [path, text] of Object.entries(wanted)) {
    if (Object.hasOwn(there, path) && there[path] === text) continue;
    if (text === null) await post('/create_folder', Buffer.from(JSON.stringify({ path })), 'application/json');
    else {
      const slash = path.lastIndexOf('/') + 1;
      const value = /^\d+ bytes$/.test(text) ? Buffer.alloc(Number.parseInt(text, 10)) : Buffer.from(text, 'latin1');
      const parts = [
        { name: 'prefix', value: path.slice(0, slash) },
        { name: 'file', filename: path.slice(slash), value },
      ];
      await post('/upload', formOf(parts));
    }
  }
}
