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

/** Processes that share the folder, and how often each is killed. */
const PROCESSES = 2;
const KILLS = isFullForm ? 60 : 6;

/** Maximum operations between two kills. */
const MAX_LINES = 150;

/** An interrupted move of a file leaves it at both paths until it is repeated, so contents then exist twice. */
for (const moves of [false, true]) {
  const result = moves ? 'loses no content' : 'loses no content and keeps none twice';
  it(`kill -9 of processes that delete, restore${moves ? ', move' : ''} and replace ${result}`, async (t) => {
    const folder = await temporaryFolder(t);
    const root = join(folder, 'root');
    const logs = Array.from({ length: PROCESSES }, (_, number) => join(folder, `log-${number}`));
    await Promise.all(logs.map((log, number) => killRepeatedly(t, { root, log, name: String(number), moves })));

    const began = new Set<string>();
    const wrote = new Set<string>();
    for (const line of (await Promise.all(logs.map(linesOf))).flat()) {
      const [word, ...text] = line.split(' ');
      assert.notEqual(word, 'fault', text.join(' '));
      (word === 'began' ? began : wrote).add(text.join(' '));
    }
    assert.ok(wrote.size > KILLS);

    const { store } = await openDisk({ root, log: silentLog });
    atEnd(t, () => store.close?.());
    // An interrupted replacement is completed when it is too old to be in progress.
    const contents = await until('every acknowledged content is present', async () => {
      const found = await contentsOf(store);
      return wrote.isSubsetOf(new Set(found)) ? found : undefined;
    });
    if (!moves) assert.equal(new Set(contents).size, contents.length, 'No content is present twice.');
    assert.ok(new Set(contents).isSubsetOf(began));
  });
}

/** Runs a process that changes files at random, and kills and restarts it several times. */
async function killRepeatedly(
  t: TestContext,
  { root, log, name, moves }: { root: string; log: string; name: string; moves: boolean },
): Promise<void> {
  for (let kill = 0; kill < KILLS; kill++) {
    const before = (await linesOf(log)).length;
    const args = [PROCESS, root, `${name}-${kill}`, log, moves ? 'moves' : ''];
    const child = spawn(process.execPath, args, { stdio: 'inherit' });
    atEnd(t, () => child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const lines = 2 + Math.random() * MAX_LINES;
    await until('the process has done some operations', async () => (await linesOf(log)).length - before > lines);
    child.kill('SIGKILL');
    await exited;
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
