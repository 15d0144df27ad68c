import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { parseFile, parseFolder } from '../../src/model/path.ts';
import type { Store, TrashStore, VersionStore } from '../../src/model/store.ts';
import { atEnd } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { treeOf } from '../contract/bytes.ts';
import { isFullForm } from '../full-forms.ts';

const PROCESS = fileURLToPath(new URL('./writing-process.ts', import.meta.url));

/** How often each process is killed, and the maximum lines that it logs between two kills. */
export const KILLS = isFullForm ? 60 : 3;
const MAX_LINES = 150;

export interface Run {
  /** The root of a disk, or the options of a bucket as JSON. */
  readonly target: string;
  readonly log: string;
  readonly name: string;
  readonly kills: number;
  readonly onlyWrites?: boolean;
  /** Maximum lines that the process logs between two kills. */
  readonly maxLines?: number;
}

/** Runs a process, kills and restarts it `kills` times, and then lets it complete its last operation. */
export async function runRepeatedly(
  t: TestContext,
  { target, log, name, kills, onlyWrites, maxLines = MAX_LINES }: Run,
): Promise<void> {
  for (let run = 0; run <= kills; run++) {
    const before = (await linesOf(log)).length;
    const args = [PROCESS, target, `${name}-${run}`, log, onlyWrites ? 'only-writes' : ''];
    const child = spawn(process.execPath, args, { stdio: 'inherit' });
    atEnd(t, () => child.kill('SIGKILL'));
    const exited = once(child, 'exit');
    const lines = kills === 0 ? maxLines * KILLS : 2 + Math.random() * maxLines;
    await until('the process has done some operations', async () => (await linesOf(log)).length - before > lines);
    child.kill(run < kills ? 'SIGKILL' : 'SIGTERM');
    const [code] = await exited;
    assert.equal(code, run < kills ? null : 0);
  }
}

const linesOf = async (log: string) => (existsSync(log) ? (await readFile(log, 'utf8')).trim().split('\n') : []);

/** Returns the contents that processes began to write, and those whose write was acknowledged. */
export async function readLog(...logs: readonly string[]): Promise<{ began: Set<string>; wrote: Set<string> }> {
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
export async function contentsOf(store: Store & TrashStore & VersionStore): Promise<string[]> {
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
