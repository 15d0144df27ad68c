import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseFile, parseFolder } from '../../src/model/path.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { silentLog, treeOf } from '../contract/bytes.ts';
import { isFullForm } from '../full-forms.ts';

const PROCESS = fileURLToPath(new URL('./keeping-process.ts', import.meta.url));

/** How often each process is killed, and the maximum operations between two kills. */
const KILLS = isFullForm ? 60 : 6;
const MAX_LINES = 150;

interface Course {
  /** Number of processes that share the folder. */
  readonly processes: number;
  readonly kills: number;
  /** Whether the processes only write files. */
  readonly onlyWrites?: boolean;
}

it('A process that deletes, restores, moves and replaces files keeps each content once', (t) =>
  verifyContents(t, { processes: 1, kills: 0 }));

it('kill -9 of a process that deletes, restores, moves and replaces files loses no content', (t) =>
  verifyContents(t, { processes: 1, kills: KILLS }));

it('kill -9 of processes that replace the same files loses no version', (t) =>
  verifyContents(t, { processes: 2, kills: KILLS, onlyWrites: true }));

/** Verifies that each content that was written is a file, a version, or in the trash. */
async function verifyContents(t: TestContext, course: Course): Promise<void> {
  const folder = await temporaryFolder(t);
  const root = join(folder, 'root');
  const logs = Array.from({ length: course.processes }, (_, number) => join(folder, `log-${number}`));
  await Promise.all(logs.map((log, number) => runRepeatedly(t, { ...course, root, log, name: String(number) })));

  const began = new Set<string>();
  const wrote = new Set<string>();
  for (const line of (await Promise.all(logs.map(linesOf))).flat()) {
    const [word, ...text] = line.split(' ');
    assert.notEqual(word, 'fault', text.join(' '));
    (word === 'began' ? began : wrote).add(text.join(' '));
  }
  assert.ok(wrote.size > course.processes * Math.max(course.kills, 1));

  const { store } = await openDisk({ root, log: silentLog });
  atEnd(t, () => store.close?.());
  // An interrupted replacement is completed when it is too old to be in progress.
  const contents = await until('every acknowledged content is present', async () => {
    const found = await contentsOf(store);
    return wrote.isSubsetOf(new Set(found)) ? found : undefined;
  });
  // An operation that is killed between its two steps leaves a file with two names.
  const repeated = contents.length - new Set(contents).size;
  assert.ok(repeated <= course.processes * course.kills, `${repeated} contents are present twice.`);
  assert.ok(new Set(contents).isSubsetOf(began));
}

/** Runs a process, kills and restarts it `kills` times, and then lets it complete its last operation. */
async function runRepeatedly(
  t: TestContext,
  { root, log, name, kills, onlyWrites }: Course & { root: string; log: string; name: string },
): Promise<void> {
  for (let run = 0; run <= kills; run++) {
    const before = (await linesOf(log)).length;
    const args = [PROCESS, root, `${name}-${run}`, log, onlyWrites ? 'only-writes' : ''];
    const child = spawn(process.execPath, args, { stdio: 'inherit' });
    atEnd(t, () => child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const lines = kills === 0 ? MAX_LINES * KILLS : 2 + Math.random() * MAX_LINES;
    await until('the process has done some operations', async () => (await linesOf(log)).length - before > lines);
    child.kill(run < kills ? 'SIGKILL' : 'SIGTERM');
    const [code] = await exited;
    assert.equal(code, run < kills ? null : 0);
  }
}

const linesOf = async (log: string) => (existsSync(log) ? (await readFile(log, 'utf8')).trim().split('\n') : []);

type DiskStore = Awaited<ReturnType<typeof openDisk>>['store'];

const PATHS = ['a', 'b', ...['f/', 'h/'].flatMap((folder) => ['c', 'd', 'g/e'].map((name) => folder + name))];

/** Returns the contents of all files, versions and items of the trash. */
async function contentsOf(store: DiskStore): Promise<string[]> {
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
