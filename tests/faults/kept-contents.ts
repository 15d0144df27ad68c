import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { isStoreError } from '../../src/model/error.ts';
import { parseFile, parseFolder } from '../../src/model/path.ts';
import type { Store, TrashStore, VersionStore } from '../../src/model/store.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { until } from '../../testing/until.ts';
import { silentLog, treeOf } from '../contract/bytes.ts';

const PROCESS = fileURLToPath(new URL('./writing-process.ts', import.meta.url));

/** Maximum operations that a process logs between two kills. */
const MAX_OPERATIONS = 150;

/** Milliseconds after which another process continues what a killed one did in a bucket. */
const LEASE_MS = 1000;

/** The processes of a test. */
export interface Course {
  /** Number of processes that use the store at the same time. Default: 1. */
  readonly processes?: number;
  /** How often each process is killed. Without kills, it makes so many operations as with this number of kills. */
  readonly kills: number;
  readonly isKilled?: boolean;
  /** Whether the processes only write files. */
  readonly onlyWrites?: boolean;
}

/** Tests that each content that killed processes wrote to a disk is a file, a version, or in the trash. */
export function testWritersOfDisk(title: string, course: Course): void {
  it(title, async (t) => {
    const { processes = 1, kills, isKilled = true } = course;
    const folder = await temporaryFolder(t);
    const root = join(folder, 'root');
    const logs = Array.from({ length: processes }, (_, number) => join(folder, `log-${number}`));
    await Promise.all(
      logs.map((log, number) => runRepeatedly(t, { ...course, target: root, log, name: String(number) })),
    );
    const { began, wrote } = await readLog(...logs);
    assert.ok(wrote.size > processes * kills);

    const { store } = await openDisk({ root, log: silentLog });
    atEnd(t, () => store.close?.());
    // An interrupted replacement is completed when it is too old to be in progress.
    const contents = await until('every acknowledged content is present', async () => {
      const found = await contentsOf(store);
      return wrote.isSubsetOf(new Set(found)) ? found : undefined;
    });
    // An operation that is killed between its two steps leaves a file with two names.
    const repeated = contents.length - new Set(contents).size;
    assert.ok(repeated <= (isKilled ? processes * kills : 0), `${repeated} contents are present twice.`);
    assert.ok(new Set(contents).isSubsetOf(began));
  });
}

/** Tests that each content that killed processes wrote to a bucket is a file, a version, or in the trash. */
export function testWritersOfBucket(
  title: string,
  { isVersioned, ...course }: Course & { isVersioned: boolean },
): void {
  it(title, async (t) => {
    const bucket = await createBucket(undefined, { isVersioned });
    atEnd(t, () => bucket.remove());
    const log = join(await temporaryFolder(t), 'log');
    const options = { ...bucket.settings, leaseMs: LEASE_MS };
    await runRepeatedly(t, { ...course, target: JSON.stringify(options), log, name: '0', maxOperations: 30 });
    const { began, wrote } = await readLog(log);
    assert.ok(wrote.size > course.kills);

    const store = openS3({ ...options, warn: () => {} }) as Store & TrashStore & VersionStore;
    atEnd(t, () => store.close?.());
    // An interrupted delete is completed when its lease has expired. A slow machine can lose leases, too.
    const contents = await until('every acknowledged content is present', async () => {
      const found = new Set(await contentsOf(store).catch(ignoreUnavailable));
      return wrote.isSubsetOf(found) ? found : undefined;
    });
    assert.ok(contents.isSubsetOf(began));
  });
}

function ignoreUnavailable(error: unknown): string[] {
  if (isStoreError(error, 'unavailable')) return [];
  throw error;
}

interface Run extends Course {
  /** The root of a disk, or the options of a bucket as JSON. */
  readonly target: string;
  readonly log: string;
  readonly name: string;
  readonly maxOperations?: number;
}

/** Runs a process, kills and restarts it `kills` times, and then lets it complete its last operation. */
async function runRepeatedly(
  t: TestContext,
  { target, log, name, kills, isKilled = true, onlyWrites = false, maxOperations = MAX_OPERATIONS }: Run,
): Promise<void> {
  const runs = isKilled ? kills + 1 : 1;
  for (let run = 0; run < runs; run++) {
    const args = [PROCESS, target, `${name}-${run}`, log, onlyWrites ? 'only-writes' : ''];
    const child = spawn(process.execPath, args, { stdio: 'inherit' });
    atEnd(t, () => child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    if (isKilled) {
      await untilLinesAdded(log, 2 + Math.random() * maxOperations);
    } else {
      for (let round = 0; round < kills; round++) await untilLinesAdded(log, maxOperations);
    }
    const isLast = run === runs - 1;
    child.kill(isLast ? 'SIGTERM' : 'SIGKILL');
    const [code] = await exited;
    assert.equal(code, isLast ? 0 : null);
  }
}

async function untilLinesAdded(log: string, count: number): Promise<void> {
  const before = (await linesOf(log)).length;
  await until('the process has done some operations', async () => (await linesOf(log)).length - before > count);
}

const linesOf = async (log: string) => (existsSync(log) ? (await readFile(log, 'utf8')).trim().split('\n') : []);

/** Returns the contents that processes began to write, and those whose write was acknowledged. */
async function readLog(...logs: readonly string[]): Promise<{ began: Set<string>; wrote: Set<string> }> {
  const began = new Set<string>();
  const wrote = new Set<string>();
  for (const line of (await Promise.all(logs.map(linesOf))).flat()) {
    const [word, ...text] = line.split(' ');
    assert.notEqual(word, 'fault', text.join(' '));
    (word === 'began' ? began : wrote).add(text.join(' '));
  }
  return { began, wrote };
}

const PATHS = ['a', 'b', ...['f/', 'h/'].flatMap((folder) => ['c', 'd', 'g/e'].map((name) => folder + name))];

/** Returns the contents of all files, versions and items of the trash. */
async function contentsOf(store: Store & TrashStore & VersionStore): Promise<string[]> {
  for (const [number, { id, path }] of (await store.listTrash({})).items.entries()) {
    const to = `restored ${number} ${id}`;
    await store.restoreTrashed(id, path.endsWith('/') ? parseFolder(to) : parseFile(to));
  }
  const contents = Object.values(await treeOf(store)).filter((text) => text !== null);
  for (const path of PATHS.map(parseFile)) {
    for (const { id } of (await store.listVersions(path)).versions) {
      contents.push((await buffer((await store.readVersion(path, id)).body)).toString());
    }
  }
  return contents;
}
