import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rename, rm, stat, symlink, unlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { AccessFileError } from '../../src/access/access-file-syntax.ts';
import { PERMISSIONS, type Permission } from '../../src/access/policy.ts';
import { type PolicyWatcher, watchPolicy } from '../../src/access/policy-watcher.ts';
import { ROOT } from '../../src/model/path.ts';
import { until } from '../../testing/until.ts';

/** A file in which everyone has one right. */
const fileWith = (right: Permission, more = '') =>
  JSON.stringify({ grants: [{ folder: '/', to: 'everyone', rights: [right] }], ...(more && { $schema: more }) });

const rightsIn = (watcher: PolicyWatcher) =>
  PERMISSIONS.filter((right) => watcher.current().allows(undefined, right, ROOT));

async function folderOf(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-access-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Watches an access file and records the log. The default `interval` never elapses. */
async function watch(t: TestContext, { text = fileWith('read'), interval = 3_600_000 } = {}) {
  const path = join(await folderOf(t), 'access.json');
  await writeFile(path, text);
  const logged: { level: string; details: object }[] = [];
  const logAs = (level: string) => (details: object) => void logged.push({ level, details });
  const watcher = await watchPolicy(path, { info: logAs('info'), error: logAs('error') }, { interval });
  t.after(() => watcher.close());
  return { path, watcher, logged, levels: () => logged.map(({ level }) => level).join(' ') };
}

describe('A watched access file', () => {
  it('is reloaded after a change and logged once', async (t) => {
    const { path, watcher, logged, levels } = await watch(t);
    assert.deepEqual(rightsIn(watcher), ['read']);
    await writeFile(path, fileWith('write'));
    await watcher.check();
    assert.deepEqual(rightsIn(watcher), ['write']);
    await watcher.check();
    assert.equal(levels(), 'info');
    assert.deepEqual(logged[0]?.details, { file: path, users: 0, grants: 1, warnings: [] });
  });

  it('is checked periodically', async (t) => {
    const { path, watcher } = await watch(t, { interval: 5 });
    await writeFile(path, fileWith('write'));
    await until('the new file is active', () => rightsIn(watcher)[0] === 'write');
  });

  it('is reloaded when another file replaces it, even with the same size and timestamps', async (t) => {
    const { path, watcher } = await watch(t, { text: fileWith('read', 'abcde') });
    const { atime, mtime, size } = await stat(path);
    const next = fileWith('write', 'abcd');
    assert.equal(next.length, size);
    await writeFile(`${path}.new`, next);
    await utimes(`${path}.new`, atime, mtime);
    await rename(`${path}.new`, path);
    await watcher.check();
    assert.deepEqual(rightsIn(watcher), ['write']);
  });

  it('is reloaded after an in-place write that keeps the size and timestamps', async (t) => {
    const { path, watcher } = await watch(t, { text: fileWith('read', 'abcde') });
    const { atime, mtime } = await stat(path);
    await writeFile(path, fileWith('write', 'abcd'));
    await utimes(path, atime, mtime);
    await watcher.check();
    assert.deepEqual(rightsIn(watcher), ['write']);
  });

  it('is reloaded when a symbolic link in its path changes, as in a mounted ConfigMap', async (t) => {
    const folder = await folderOf(t);
    for (const right of ['read', 'write'] as const) {
      await mkdir(join(folder, right));
      await writeFile(join(folder, right, 'access.json'), fileWith(right));
    }
    await symlink('read', join(folder, '..data'));
    await symlink('..data/access.json', join(folder, 'access.json'));
    const silent = { info: () => {}, error: () => {} };
    const watcher = await watchPolicy(join(folder, 'access.json'), silent, { interval: 3_600_000 });
    t.after(() => watcher.close());
    assert.deepEqual(rightsIn(watcher), ['read']);
    await symlink('write', join(folder, '..new'));
    await rename(join(folder, '..new'), join(folder, '..data'));
    await watcher.check();
    assert.deepEqual(rightsIn(watcher), ['write']);
  });

  it('stays in effect when the new version is invalid, and all errors are logged once', async (t) => {
    const { path, watcher, logged, levels } = await watch(t);
    await writeFile(path, '{ "grants": 5, "secret": "holdall_leaked" }');
    for (let times = 0; times < 3; times++) await watcher.check();
    assert.deepEqual(rightsIn(watcher), ['read']);
    assert.equal(levels(), 'error');
    assert.match(JSON.stringify(logged), /grants.*secret/);
    assert.doesNotMatch(JSON.stringify(logged), /leaked/);
    await writeFile(path, '{ "grants": 6 }');
    await watcher.check();
    assert.equal(levels(), 'error error');
    await writeFile(path, fileWith('write'));
    await watcher.check();
    assert.deepEqual(rightsIn(watcher), ['write']);
    assert.equal(levels(), 'error error info');
  });

  it('stays in effect while it is missing or replaced by a folder', async (t) => {
    const { path, watcher, levels } = await watch(t);
    await unlink(path);
    for (let times = 0; times < 3; times++) await watcher.check();
    assert.equal(levels(), 'error');
    await mkdir(path);
    for (let times = 0; times < 3; times++) await watcher.check();
    assert.equal(levels(), 'error error');
    assert.deepEqual(rightsIn(watcher), ['read']);
    await rm(path, { recursive: true });
    await writeFile(path, fileWith('read'));
    await watcher.check();
    assert.equal(levels(), 'error error info');
    assert.deepEqual(rightsIn(watcher), ['read']);
  });

  it('logs nothing when only its timestamps change', async (t) => {
    const { path, watcher, levels } = await watch(t);
    await utimes(path, 1, 1);
    await watcher.check();
    assert.equal(levels(), '');
  });

  it('is not reloaded after the watcher is closed', async (t) => {
    const { path, watcher, levels } = await watch(t);
    await writeFile(path, fileWith('write'));
    const looking = watcher.check();
    watcher.close();
    await looking;
    assert.deepEqual(rightsIn(watcher), ['read']);
    assert.equal(levels(), '');
  });
});

describe('A start with an access file', () => {
  for (const [what, prepare, expected] of [
    ['is not there', async () => {}, /^ACCESS_FILE \S+ can't be read: the file does not exist\.$/],
    [
      'is a folder',
      (path: string) => mkdir(path),
      /^ACCESS_FILE \S+ can't be read: it is (a folder|not a regular file)\.$/,
    ],
    ['has mistakes', (path: string) => writeFile(path, '{ "x": 1 }'), /^ACCESS_FILE \S+ has 2 errors:\n {2}line 1, /],
    ['is not UTF-8', (path: string) => writeFile(path, Buffer.from([0x22, 0xff, 0x22])), /is not UTF-8/],
    ['is too large', (path: string) => writeFile(path, ' '.repeat(10 * 2 ** 20 + 1)), /is larger than 10 MiB/],
  ] as const) {
    it(`that ${what} fails with an explanatory error`, async (t) => {
      const path = join(await folderOf(t), 'access.json');
      await prepare(path);
      await assert.rejects(watchPolicy(path, { info: () => {}, error: () => {} }), (error) => {
        assert.ok(error instanceof AccessFileError);
        assert.match(error.message, expected);
        return true;
      });
    });
  }
});
