import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { link, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { assertFailure, jsonOf, postJson, send } from '../http/client.ts';
import { temporaryFilesOf, untilNoTemporaryFiles } from '../process/temporary-files.ts';
import { requestsForFile, requestsForFolder } from './path-requests.ts';
import { snapshot } from './trees.ts';

/**
 * Entries that are neither files nor folders. Each function creates one, or returns the reason why this machine can't.
 */
const KINDS: Readonly<Record<string, (t: TestContext, path: string) => Promise<string | undefined>>> = {
  'a FIFO': async (_t, path) => make('mkfifo', path),
  'a device': async (_t, path) => make('mknod', path, 'c', '1', '3'),
  'a device that has no driver': async (_t, path) => make('mknod', path, 'c', '511', '511'),
  'a socket': makeSocket,
};

// Opening a FIFO blocks until the other end is opened.
it('returns 404 or 409 without blocking for entries that are neither a file nor a folder', async (t) => {
  const { port, root } = await startInProcess(t);
  await mkdir(join(root, 'my folder'));
  await writeFile(join(root, 'mine'), 'my bytes');
  await writeFile(join(root, 'my folder/file'), 'my bytes');

  const planted: string[] = [];
  for (const [kind, plant] of Object.entries(KINDS)) {
    await t.test(`rejects requests for ${kind} under the root`, async (test) => {
      for (const path of [kind, `my folder/${kind}`]) {
        // Each entry remains until the end of the outer test.
        const reason = await plant(t, join(root, path));
        if (reason) return test.skip(reason);
      }
      planted.push(kind);
      const before = await snapshotOf(root);
      for (const [what, path, call] of [
        ...requestsForFile(kind),
        ...requestsForFolder(kind),
        ...requestsForFile(`${kind}/below`),
      ]) {
        const { status, body } = await send(port, path, call);
        assert.ok(status === 404 || status === 409, `${what} ${path}: ${status} ${body.toString()}`);
      }
      return assert.deepEqual(await snapshotOf(root), before);
    });
  }

  await t.test('lists and copies a folder without special entries, and moves and deletes it with them', async () => {
    assert.deepEqual(await pathsListed(port, 'my folder'), ['my folder/file']);
    const folder = { source: 'my folder', is_folder: true };
    assert.equal((await postJson(port, '/copy', { ...folder, destination: 'copy' })).status, 200);
    assert.deepEqual(await readdir(join(root, 'copy')), ['file']);
    assert.equal((await postJson(port, '/move', { ...folder, destination: 'moved' })).status, 200);
    for (const kind of planted) assert.ok(!(await lstat(join(root, 'moved', kind))).isFile(), kind);
    assert.equal((await send(port, '/delete_folder/moved', { method: 'DELETE' })).status, 200);
    assert.ok(!existsSync(join(root, 'moved')));
    await untilNoTemporaryFiles(root);
  });
});

it('handles file names that no path can express', async (t) => {
  const { port, root, log } = await startInProcess(t);
  await mkdir(join(root, 'folder/nameable'), { recursive: true });
  await writeFile(join(root, 'folder/file'), 'my bytes');
  const strange = [[0xff], [0xc3, 0x28], [0x66, 0xed, 0xa0, 0x80], [0x0a], [0x7f]].map((bytes) => Buffer.from(bytes));
  const [folderName, ...fileNames] = strange;
  assert.ok(folderName);
  const at = (name: Buffer, below = '') =>
    Buffer.concat([Buffer.from(join(root, 'folder/')), name, Buffer.from(below)]);
  try {
    for (const name of fileNames) await writeFile(at(name), 'strange');
    await mkdir(at(folderName));
    await writeFile(at(folderName, '/file'), 'strange');
  } catch (error) {
    return t.skip(`this file system has only names that are UTF-8: ${String(error)}`);
  }

  await t.test('omits the names from the listing and logs their count', async () => {
    assert.deepEqual(await pathsListed(port, 'folder'), ['folder/file', 'folder/nameable/']);
    const line = await until('a log line reports them', () => log.find(({ folder }) => folder === 'folder/'));
    assert.equal(line['omitted'], strange.length);
  });

  await t.test('omits the names from listing pages and returns no empty page', async () => {
    const first = jsonOf(await send(port, '/folder?limit=1'));
    const second = jsonOf(await send(port, `/folder?limit=1&cursor=${String(first['cursor'])}`));
    assert.deepEqual(
      [first, second].map((page) => (page['entries'] as unknown[]).length),
      [1, 1],
    );
    assert.equal(second['cursor'], undefined);
  });

  await t.test('refuses to copy a folder with the names, and moves and renames it with them', async () => {
    const folder = { source: 'folder', is_folder: true };
    const refused = await postJson(port, '/copy', { ...folder, destination: 'copy' });
    assertFailure(refused, 400, /^The path "folder\/\\n" can't be copied: it contains a control character/);
    assert.ok(!existsSync(join(root, 'copy')));
    const destination = 'moved to a longer name';
    const moved = await postJson(port, '/move', { ...folder, destination });
    assert.equal(moved.status, 200, moved.body.toString());
    assert.equal(
      (await postJson(port, `/rename_folder/${encodeURIComponent(destination)}`, { newName: 'folder' })).status,
      200,
    );
    assert.equal(await readFile(at(folderName, '/file'), 'utf8'), 'strange');
    for (const name of fileNames) assert.equal(await readFile(at(name), 'utf8'), 'strange');
  });

  await t.test('deletes the names with their parent folder and leaves no temporary files', async () => {
    const { status } = await send(port, '/delete_folder/folder', { method: 'DELETE' });
    assert.equal(status, 200);
    assert.ok(!existsSync(join(root, 'folder')));
    assert.deepEqual((await temporaryFilesOf(root)).files, []);
  });
});

function make(command: string, path: string, ...args: string[]): string | undefined {
  const ran = spawnSync(command, [path, ...args], { encoding: 'utf8' });
  if (ran.status === 0) return undefined;
  return `${command} can't be used here: ${ran.error?.message ?? ran.stderr.trim()}`;
}

/** Creates a socket with a listener. The path of a socket is limited to 107 bytes, so it is created elsewhere. */
async function makeSocket(t: TestContext, path: string): Promise<string | undefined> {
  if (process.platform === 'win32') return 'Windows has no sockets in its file system';
  const folder = await mkdtemp(join(tmpdir(), 's-'));
  const server = createServer().listen(join(folder, 's'));
  atEnd(t, async () => {
    server.close();
    await rm(folder, { recursive: true, force: true });
  });
  await new Promise((resolve, reject) => server.once('listening', resolve).once('error', reject));
  await link(join(folder, 's'), path);
  return undefined;
}

async function pathsListed(port: number, folder: string): Promise<string[]> {
  const { entries } = jsonOf(await send(port, `/?prefix=${encodeURIComponent(folder)}`)) as {
    entries: { path: string }[];
  };
  return entries.map(({ path }) => path);
}

/** Describes everything in the root except the service's own folder. */
async function snapshotOf(root: string): Promise<Record<string, string>> {
  const all = await snapshot(root);
  return Object.fromEntries(Object.entries(all).filter(([path]) => !path.startsWith('.holdall')));
}
