import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, chown, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { newKeptId } from '../../src/model/kept-ids.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { file, folder, silentLog, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['root', 'acl'];

const run = promisify(execFile);

/** The attributes of one file, a capability aside, and the arguments of setfacl for its ACL. */
const ATTRIBUTES = ['-n', 'user.colour', '-v', 'blue'];
const LABEL = ['-n', 'security.SMACK64X', '-v', 'label'];
const CAPABILITY = ['-n', 'security.capability', '-v', '0x0100000200200000000000000000000000000000'];
const ACL = 'u::rw-,u:1234:rw-,g::---,m::rw-,o::---';

async function open(t: TestContext) {
  const root = await temporaryFolder(t);
  // The ACLs of Holdall's own folders must not depend on those of the root.
  await run('setfacl', ['-d', '-m', 'u:4321:rwx', root]);
  const { store } = await openDisk({ root, log: silentLog });
  atEnd(t, () => store.close?.());
  const at = (path: string) => join(root, path);
  const plant = async (path: string) => {
    await writeFile(at(path), 'old');
    for (const attribute of [ATTRIBUTES, CAPABILITY]) await run('setfattr', [...attribute, at(path)]);
    await run('setfattr', [...LABEL, at(path)]).catch(() => {});
    await run('setfacl', ['--set', ACL, at(path)]);
  };
  /** Returns the ACL and attributes of a path as their programs print them. */
  const attributesOf = async (path: string) => {
    const acl = await run('getfacl', ['--omit-header', '--numeric', '--no-effective', at(path)]);
    const attributes = await run('getfattr', ['--dump', '-m', '^(user|security)', '--absolute-names', at(path)]);
    const lines = `${acl.stdout}${attributes.stdout}`.split('\n');
    return lines.filter((line) => /^\w/.test(line));
  };
  return { store, at, plant, attributesOf };
}

const capability = /^security\.capability/;

describe('A file on a disk that replaces another', { concurrency: true }, () => {
  it('keeps its ACL, extended attributes and labels, but no capability', async (t) => {
    const { store, at, plant, attributesOf } = await open(t);
    await plant('a');
    const before = await attributesOf('a');
    assert.ok(before.some((line) => capability.test(line)));
    const expected = before.filter((line) => !capability.test(line));
    assert.ok(expected.includes('user:1234:rw-') && expected.includes('user.colour="blue"'));

    const requireKept = async () => assert.deepEqual(await attributesOf('a'), expected);
    await store.write(file('a'), upload('1'), {});
    await requireKept();
    const { etag } = await store.write(file('a'), upload('2'), { keep: {} });
    await requireKept();
    await store.write(file('a'), upload('3'), { keep: {}, condition: { etag } });
    await requireKept();
    const staged = await store.stage?.(upload('4'));
    await staged?.commit(file('a'), { type: 'text/plain' }, { keep: {} });
    await requireKept();
    await store.createUpload?.('upload', { file: file('a'), type: 'text/plain' });
    const pending = await store.openUpload?.('upload');
    await pending?.append(Readable.from([Buffer.from('5')]), {});
    await pending?.commit(file('a'), { type: 'text/plain' }, { keep: {} });
    await requireKept();
    const { versions } = await store.listVersions(file('a'));
    assert.equal(versions.length, 4);
    await store.restoreVersion(file('a'), versions.at(-1)?.id ?? assert.fail(), { keep: {} });
    await requireKept();
    const { id } = await store.moveToTrash(file('a'), { id: newKeptId() });
    await store.restoreTrashed(id, file('a'));
    await requireKept();

    await writeFile(at('b'), 'b');
    await run('setfattr', ['-n', 'user.size', '-v', 'large', at('b')]);
    await run('setfacl', ['-m', 'u:4444:rwx', at('b')]);
    await store.copy?.(file('b'), file('a'), { replace: true });
    await requireKept();
  });

  it('has no ACL if that has none, whatever folders prescribe', async (t) => {
    const { store, at, attributesOf } = await open(t);
    await writeFile(at('a'), 'old');
    await run('setfacl', ['-b', at('a')]);
    await chmod(at('a'), 0o640);
    await store.write(file('a'), upload('1'), {});
    assert.deepEqual(await attributesOf('a'), ['user::rw-', 'group::r--', 'other::---']);
    await writeFile(at('b'), 'b');
    await run('setfacl', ['-m', 'u:4444:rwx', at('b')]);
    await store.copy?.(file('b'), file('a'), { replace: true });
    assert.deepEqual(await attributesOf('a'), ['user::rw-', 'group::r--', 'other::---']);
  });
});

describe('A new file or folder on a disk', { concurrency: true }, () => {
  it('has the default ACL of its folder, as one that the system creates', async (t) => {
    const { store, at, attributesOf } = await open(t);
    for (const acl of ['u:1234:rwx,g::r-x,o::---', 'u::rwx,g::rwx,o::---']) {
      const path = acl.length > 20 ? 'extended' : 'minimal';
      await mkdir(at(path));
      await run('setfacl', ['-b', at(path)]);
      await run('setfacl', ['-d', '--set', `u::rwx,${acl}`.replace('u::rwx,u::', 'u::'), at(path)]);
      await writeFile(at(`${path}/expected`), '');
      await mkdir(at(`${path}/expected folder`));
      await store.write(file(`${path}/actual`), upload('a'), {});
      await store.write(file(`${path}/actual folder/a`), upload('a'), { condition: 'absent' });
      const staged = await store.stage?.(upload('4'));
      await staged?.commit(file(`${path}/staged`), { type: 'text/plain' }, { keep: {} });
      const expected = await attributesOf(`${path}/expected`);
      for (const actual of ['actual', 'actual folder/a', 'staged'])
        assert.deepEqual(await attributesOf(`${path}/${actual}`), expected);
      assert.deepEqual(await attributesOf(`${path}/actual folder`), await attributesOf(`${path}/expected folder`));
    }
  });

  it('has no ACL in a folder without a default ACL', async (t) => {
    const { store, at, attributesOf } = await open(t);
    await mkdir(at('f'));
    await run('setfacl', ['-b', at('f')]);
    await writeFile(at('f/expected'), '');
    await store.write(file('f/actual'), upload('a'), {});
    assert.deepEqual(await attributesOf('f/actual'), await attributesOf('f/expected'));
  });
});

describe('A copy on a disk', { concurrency: true }, () => {
  it('has the ACLs and extended attributes of a file, a folder and all in it, but no capability', async (t) => {
    const { store, at, plant, attributesOf } = await open(t);
    await mkdir(at('f/sub'), { recursive: true });
    await plant('f/sub/a');
    await run('setfattr', [...ATTRIBUTES, at('f')]);
    await run('setfacl', ['-d', '-m', 'u:1234:r-x', at('f/sub')]);
    await store.copyFolder?.(folder('f'), folder('g'), { replace: false });
    for (const path of ['', '/sub']) assert.deepEqual(await attributesOf(`g${path}`), await attributesOf(`f${path}`));
    const expected = (await attributesOf('f/sub/a')).filter((line) => !capability.test(line));
    assert.deepEqual(await attributesOf('g/sub/a'), expected);
    await store.copy?.(file('f/sub/a'), file('b'), { replace: false });
    assert.deepEqual(await attributesOf('b'), expected);
  });

  it('belongs to the user of the service, with the mode and group of its source', async (t) => {
    const { store, at } = await open(t);
    await mkdir(at('from/sub'), { recursive: true });
    await writeFile(at('from/sub/a'), 'x', { mode: 0o640 });
    for (const path of ['from/sub/a', 'from/sub', 'from']) await chown(at(path), 1234, 2345);
    await store.copyFolder?.(folder('from'), folder('to'), { replace: false });
    await store.copy?.(file('from/sub/a'), file('b'), { replace: false });
    for (const path of ['to', 'to/sub', 'to/sub/a', 'b']) {
      const { uid, gid } = await stat(at(path));
      assert.deepEqual([uid, gid], [process.geteuid?.(), 2345], path);
    }
    assert.equal((await stat(at('b'))).mode & 0o777, 0o640);
  });

  it('of a folder has the group of a folder with the setgid bit', async (t) => {
    const { store, at } = await open(t);
    await mkdir(at('f/sub'), { recursive: true });
    await writeFile(at('f/sub/a'), 'a');
    await mkdir(at('shared'));
    await chown(at('shared'), 0, 2345);
    await chmod(at('shared'), 0o2775);
    await store.copyFolder?.(folder('f'), folder('shared/new/f'), { replace: false });
    const { stdout } = await run('find', [at('shared'), '-printf', '%g %M %P\n']);
    const lines = stdout.trim().split('\n').toSorted();
    assert.equal(lines.length, 5);
    for (const line of lines) assert.match(line, /^2345 (d.{5}s|-)/);
  });
});

describe('A file that is moved over another on a disk', () => {
  it('keeps its own mode, owner, ACL and extended attributes', async (t) => {
    const { store, at, plant, attributesOf } = await open(t);
    await plant('a');
    const expected = await attributesOf('a');
    await writeFile(at('b'), 'b');
    await store.move?.(file('a'), file('b'), { replace: true, keep: {} });
    assert.deepEqual(await attributesOf('b'), expected);
  });
});
