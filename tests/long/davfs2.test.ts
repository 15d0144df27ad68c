// Only this file proves that Vim, cp, git and SQLite work on a mount of davfs2. It needs a service of its own, and hundreds of
// processes. tests/dav has the requests of davfs2, and other clients.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { startDavProcess } from '../dav/dav-service.ts';
import { mountDavfs2 } from '../dav/davfs2.ts';
import { treeIn } from '../dav/trees.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['davfs2', 'git', 'sqlite3', 'vim'];

/** Files to copy. */
const SOURCES = fileURLToPath(new URL('../../src/dav', import.meta.url));

/** Statements of several transactions. SQLite locks the database, and replaces a part of it each time. */
const STATEMENTS = [
  'CREATE TABLE entries (number INTEGER PRIMARY KEY, text TEXT)',
  'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO entries SELECT i, hex(i) FROM n',
  'UPDATE entries SET text = number WHERE number % 3 = 0',
  'DELETE FROM entries WHERE number > 1500',
  'VACUUM',
];

describe('davfs2', () => {
  it('mounts the service, and each program reads back what it wrote', async (t) => {
    // Not in this process: while it waits for files of the mount, it could not read those of the disk.
    const { url, root, log } = await startDavProcess(t, { basePath: '/our/files' });
    const { folder, unmount } = await mountDavfs2(t, url);
    const run = runnerIn(folder);

    await t.test('Vim edits a file', async () => {
      const vim = (keys: string) => run('vim', '-u', 'NONE', '-es', '-c', `normal ${keys}`, '-c', 'wq', 'notes.txt');
      // davfs2 reports the old size while Vim writes, and the kernel caches it for a second.
      const untilWritten = (text: string) =>
        until(
          'the mount has the new content',
          async () => (await readFile(join(folder, 'notes.txt'), 'utf8')) === text,
        );
      await writeFile(join(folder, 'notes.txt'), 'first line\n');
      await vim('Gosecond line');
      await untilWritten('first line\nsecond line\n');
      await vim('ggcwchanged');
      await untilWritten('changed line\nsecond line\n');
    });

    await t.test('cp copies a tree, and mv and rm change it', async () => {
      await run('cp', '-r', SOURCES, 'dav');
      assert.deepEqual(await treeIn(join(folder, 'dav')), await treeIn(SOURCES));
      await run('mv', 'dav/clutter.ts', 'hidden files – 100%.ts');
      await run('mv', '--force', 'dav/lock.ts', 'dav/locks.ts');
      await run('rm', 'dav/properties.ts');
      await run('mkdir', 'dav/empty');
    });

    await t.test('git clones into it', async () => {
      const repository = await temporaryFolder(t);
      const identity = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.org'];
      await cp(SOURCES, repository, { recursive: true });
      await run('git', 'init', '--quiet', repository);
      await run('git', '-C', repository, 'add', '.');
      await run('git', '-C', repository, ...identity, 'commit', '--quiet', '--message', 'Add files');
      await run('git', 'clone', '--quiet', '--no-local', '--template=', repository, 'clone');
      assert.equal(await run('git', '-C', 'clone', 'status', '--porcelain'), '');
      await run('git', '-C', 'clone', 'fsck', '--strict');
      await run('git', '-C', 'clone', ...identity, 'commit', '--quiet', '--allow-empty', '--message', 'Add nothing');
      assert.equal((await run('git', '-C', 'clone', 'log', '--format=%s')).trim(), 'Add nothing\nAdd files');
    });

    await t.test('SQLite changes a database', async () => {
      const onDisk = runnerIn(await temporaryFolder(t));
      for (const each of [run, onDisk]) {
        for (const statement of STATEMENTS) await each('sqlite3', 'data.sqlite', statement);
      }
      assert.equal(await run('sqlite3', 'data.sqlite', 'PRAGMA integrity_check'), 'ok\n');
      assert.equal(await run('sqlite3', 'data.sqlite', '.dump'), await onDisk('sqlite3', 'data.sqlite', '.dump'));
    });

    const seen = await treeIn(folder, 'latin1');
    await unmount();
    const stored = await treeIn(root, 'latin1');
    assert.deepEqual(Object.keys(stored), Object.keys(seen));
    for (const [path, content] of Object.entries(seen)) assert.ok(stored[path] === content, path);

    await t.test('a second mount reads the same', async (second) => {
      const mounted = await mountDavfs2(second, url);
      assert.ok((await treeIn(mounted.folder, 'latin1'))['data.sqlite'] === stored['data.sqlite']);
      assert.equal(await runnerIn(mounted.folder)('git', '-C', 'clone', 'status', '--porcelain'), '');
      await mounted.unmount();
    });

    const methods = new Set(log.filter(({ msg }) => msg === 'request').map(({ method }) => method));
    for (const method of ['LOCK', 'UNLOCK', 'MOVE', 'DELETE', 'MKCOL']) assert.ok(methods.has(method), method);
  });
});

/** Returns a function that runs a program in the folder, and returns what it prints. Rejects if the program fails. */
function runnerIn(cwd: string): (program: string, ...args: string[]) => Promise<string> {
  const { PATH } = process.env;
  const env = { PATH, HOME: cwd, LC_ALL: 'C.UTF-8', GIT_CONFIG_NOSYSTEM: '1' };
  return async (program, ...args) => (await promisify(execFile)(program, args, { cwd, env })).stdout;
}
