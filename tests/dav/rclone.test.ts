import assert from 'node:assert/strict';
import { mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Owner, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { NAMES } from '../contract/names.ts';
import { send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { type DavService, startDav } from './dav-service.ts';
import { type Rclone, rcloneFor, serveByRclone } from './rclone.ts';
import { treeIn } from './trees.ts';

export const needs: readonly Need[] = ['rclone'];

/** Seconds since 1970. */
const TIMES = [1_000_000_000, 1_234_567_890, 1_700_000_001] as const;

const TREE: Readonly<Record<string, string>> = {
  'a.txt': 'at the root',
  'sub/b.txt': 'below',
  'sub/empty': '',
  'sub/deep/er/large': 'large'.repeat(100_000),
  ...Object.fromEntries(NAMES.slice(0, 24).map((name) => [`odd/${name}`, name])),
};

describe('rclone', () => {
  let service: DavService;
  const ends: (() => Promise<void>)[] = [];
  const owner: Owner = { after: (end) => void ends.push(end) };
  before(async () => {
    service = await startDav(owner, { basePath: '/our/files' });
  });
  after(async () => {
    for (const end of ends) await end();
  });

  /** Creates a folder in the root. Returns its path and its URL. */
  const createFolder = async (name: string) => {
    const root = join(service.root, name);
    await mkdir(root);
    return { root, url: `${service.url}${name}/` };
  };

  it('syncs up with modification times, down, and only what changed', async (t) => {
    const { root, url } = await createFolder('synced');
    const rclone = await rcloneFor(url, 'owncloud');
    const [local, down] = [await writeTree(await temporaryFolder(t)), await temporaryFolder(t)];

    await rclone('sync', local, 'dav:');
    assert.deepEqual(await treeIn(root), TREE);
    assert.deepEqual(await timesIn(root), await timesIn(local));
    await rclone('check', '--download', local, 'dav:');
    await rclone('sync', 'dav:', down);
    assert.deepEqual(await treeIn(down), TREE);
    assert.deepEqual(await timesIn(down), await timesIn(local));

    assert.deepEqual(await changesOf(service, () => rclone('sync', local, 'dav:')), []);
    await writeFile(join(local, 'a.txt'), 'other content');
    await rm(join(local, 'sub/empty'));
    assert.deepEqual(await changesOf(service, () => rclone('sync', local, 'dav:')), ['DELETE', 'PUT']);
    assert.deepEqual(await treeIn(root), await treeIn(local));
  });

  it('copies and moves on the server, reads ranges, and deletes folders', async () => {
    const { root, url } = await createFolder('changed');
    const rclone = await rcloneFor(url, 'nextcloud');
    await writeTree(root);
    const changes = await changesOf(service, async () => {
      await rclone('copyto', 'dav:a.txt', 'dav:copied/a 1%.txt');
      await rclone('moveto', 'dav:sub/b.txt', 'dav:moved/b.txt');
      await rclone('moveto', 'dav:sub/deep', 'dav:moved/deep');
      await rclone('purge', 'dav:odd');
    });
    assert.deepEqual([...new Set(changes)], ['COPY', 'DELETE', 'MKCOL', 'MOVE']);
    assert.equal((await rclone('cat', '--offset', '3', '--count', '3', 'dav:a.txt')).stdout, 'the');
    assert.deepEqual(await treeIn(root), {
      'a.txt': 'at the root',
      'copied/a 1%.txt': 'at the root',
      'moved/b.txt': 'below',
      'moved/deep/er/large': TREE['sub/deep/er/large'],
      'sub/empty': '',
    });
  });

  it('lists the same sizes and times as of `rclone serve webdav`', async (t) => {
    const { root, url } = await createFolder('listed');
    await writeTree(root);
    await mkdir(join(root, 'empty folder'));
    const [own, other] = await Promise.all([
      rcloneFor(url, 'other'),
      serveByRclone(t, root).then((served) => rcloneFor(served, 'rclone')),
    ]);
    const [listed, expected] = await Promise.all([listing(own), listing(other)]);
    assert.deepEqual(listed, expected);
    assert.equal(listed.length, Object.keys(TREE).length + 5);
  });
});

/** Writes `TREE` with modification times. Returns the folder. */
async function writeTree(folder: string): Promise<string> {
  for (const [number, [path, text]] of Object.entries(TREE).entries()) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    const time = TIMES[number % TIMES.length] ?? 0;
    await utimes(file, time, time);
  }
  return folder;
}

/** Returns the modification times of all files of a tree, in seconds. */
async function timesIn(folder: string): Promise<Readonly<Record<string, number>>> {
  const times = Object.keys(await treeIn(folder)).map(async (path) => {
    return [path, Math.trunc((await stat(join(folder, path))).mtimeMs / 1000)] as const;
  });
  return Object.fromEntries(await Promise.all(times));
}

/** Returns the methods of all requests that changed something meanwhile, sorted. */
async function changesOf(service: DavService, run: () => Promise<unknown>): Promise<string[]> {
  const start = await untilLogged(service);
  await run();
  const end = await untilLogged(service);
  const methods = service.log.slice(start, end).flatMap((line) => methodOf(line) ?? []);
  return methods.filter((method) => !['GET', 'HEAD', 'OPTIONS', 'PROPFIND'].includes(method)).toSorted();
}

/** Waits until the log has the lines of all requests so far. Returns the number of lines. */
async function untilLogged({ port, path, log }: DavService): Promise<number> {
  // The service logs a request after its response, in the order of the responses.
  const { headers } = await send(port, path, { method: 'OPTIONS' });
  await until('the request is logged', () => log.some(({ requestId }) => requestId === headers['x-request-id']));
  return log.length;
}

function methodOf(line: Readonly<Record<string, unknown>>): string | undefined {
  return line['msg'] === 'request' ? String(line['method']) : undefined;
}

/** Returns path, size and modification time of all files, and the paths of all folders. The time of a folder is not portable. */
async function listing(rclone: Rclone): Promise<readonly (readonly unknown[])[]> {
  const { stdout } = await rclone('lsjson', '--recursive', '--no-mimetype', 'dav:');
  const entries: { Path: string; Size: number; ModTime: string; IsDir: boolean }[] = JSON.parse(stdout);
  return entries
    .map(({ Path, Size, ModTime, IsDir }) => (IsDir ? [`${Path}/`] : [Path, Size, new Date(ModTime).getTime()]))
    .toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));
}
