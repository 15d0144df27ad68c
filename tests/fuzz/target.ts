import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { walk } from '../../src/files/fallbacks.ts';
import { parseFolder } from '../../src/model/path.ts';
import { type Owner, ownerOfSuite } from '../../testing/at-end.ts';
import { atEnd, isError, isRunning, startHoldall } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { memory } from '../contract/backend.ts';
import { BOUNDARY, escapePath, formOf, send } from '../http/client.ts';
import { startService } from '../http/service.ts';
import { anonymousMemory, MAX_MEMORY_GROWTH_BYTES } from '../process/memory.ts';
import { untilNoTemporaryFiles } from '../process/temporary-files.ts';
import type { Tree } from './acknowledged.ts';

/** A running service, with direct access to its store. */
export interface Target {
  readonly port: number;
  /** Reads the stored files and folders directly. */
  tree(): Promise<Tree>;
  /** Restores exactly these files and folders. */
  restore(tree: Tree): Promise<void>;
  /** Throws if the service had a fault, or still has resources of completed requests. */
  assertHealthy(): Promise<void>;
}

export interface TargetOptions {
  readonly settings?: Readonly<Record<string, string>>;
  /** The headers that authenticate requests, if the service requires that. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether stalled clients time out after a second, the minimum of the setting. */
  readonly hasShortTimeouts?: boolean;
}

const owner = ownerOfSuite();
let shared: Promise<Target> | undefined;

/** Returns the service without settings that the tests of this process use one after the other. */
export function shareOnDisk(): Promise<Target> {
  return (shared ??= startOnDisk(owner));
}

/** Starts the built service on a folder of a disk. */
export async function startOnDisk(
  t: Owner,
  { settings, headers = {}, hasShortTimeouts = false }: TargetOptions = {},
): Promise<Target> {
  const timeoutMs: Record<string, string> = hasShortTimeouts ? { HEADERS_TIMEOUT: '1', IDLE_TIMEOUT: '1' } : {};
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
    async assertHealthy() {
      assert.equal((await send(port, '/-/health/ready')).status, 200);
      assert.deepEqual(holdall.serving(), [pid]);
      assert.ok(isRunning(pid));
      assertNoFaults(log);
      const other = holdall
        .printed()
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('{"level":'));
      assert.deepEqual(other, [], 'Nothing is printed but the log.');
      await untilNoTemporaryFiles(root);
      await until('all files and connections are closed', () => openFiles(pid) <= open);
      await until(
        'the memory is released',
        async () => (await anonymousMemory(pid)) < memoryBefore + MAX_MEMORY_GROWTH_BYTES,
      );
    },
  };
}

/**
 * Starts the application in this process, on a store in memory. `Files` composes operations that are one step on a
 * disk.
 */
export async function startInMemory(t: TestContext): Promise<Target> {
  const warnings: Error[] = [];
  const warned = (warning: Error) => void warnings.push(warning);
  process.on('warning', warned);
  atEnd(t, () => process.off('warning', warned));
  const service = await startService(memory);
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
    async assertHealthy() {
      assert.equal((await send(port, '/-/health/ready')).status, 200);
      assertNoFaults(log);
      assert.deepEqual(warnings, []);
    },
  };
}

function assertNoFaults(log: readonly Readonly<Record<string, unknown>>[]): void {
  assert.deepEqual(log.filter(isError), [], 'The service had no fault.');
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

/** Returns the content of a file for comparisons: its text, or the size of a large file. */
const sizeOf = (size: number) => `${size} bytes`;

const textOf = async (size: number, read: () => Promise<Buffer>) =>
  size > LARGEST_TEXT ? sizeOf(size) : (await read()).toString('latin1');

/** Returns everything below a folder except the service's own. Synchronous, because this process serves no requests. */
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

/** Sends requests, so that the service notices the changes. */
async function restore({ port, tree, headers = {} }: Place, wanted: Tree): Promise<void> {
  const post = async (path: string, body?: Buffer, type = 'multipart/form-data') => {
    const about = { ...headers, 'content-type': `${type}; boundary=${BOUNDARY}` };
    const response = await send(port, path, { method: 'POST', headers: about, body });
    assert.equal(response.status, 200, `${path}: ${response.body.toString()}`);
  };
  const existing = await tree();
  for (const path of Object.keys(existing).filter((each) => !Object.hasOwn(wanted, each))) {
    // Folders precede their entries.
    const isGone = Object.keys(existing).some(
      (above) => above.endsWith('/') && !Object.hasOwn(wanted, above) && path !== above && path.startsWith(above),
    );
    if (!isGone) await post(`/delete${path.endsWith('/') ? '_folder' : ''}/${escapePath(path)}`);
  }
  for (const [path, text] of Object.entries(wanted)) {
    if (Object.hasOwn(existing, path) && existing[path] === text) continue;
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
