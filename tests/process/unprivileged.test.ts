import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, chown, lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Owner, ownerOfSuite } from '../../testing/at-end.ts';
import { type LogLine, type Start, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { assertFailure, postForm, send, upload } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { parseArchive } from '../zip/parse-archive.ts';

export const needs: readonly Need[] = ['root', 'setpriv', 'acl'];

const run = promisify(execFile);

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));

/** The ids of the service: its user and group, and its supplementary group. */
const SERVICE = { uid: 65_534, gid: 65_534, member: 2345 };
const AS_SERVICE = `setpriv --reuid ${SERVICE.uid} --regid ${SERVICE.gid} --groups ${SERVICE.member}`;
const AS_POWERLESS_ROOT = 'setpriv --bounding-set=-all --inh-caps=-all';
const OWNER = 1234;
const OTHER_GROUP = 3456;

/**
 * Starts a service of another user, who may not be permitted to read the checkout and Node.js. That user reads them
 * in a folder of its own, where only this process has them.
 */
async function startUnprivileged(t: Owner, root: string, settings: Start['settings'] = {}, identity = AS_SERVICE) {
  const home = await temporaryFolder(t);
  await chmod(home, 0o755);
  await mkdir(join(home, 'checkout'));
  await writeFile(join(home, 'node'), '');
  const steps = ['mount --bind "$1" checkout', 'mount --bind "$2" node', `exec ${identity} "$PWD/node" "$3"`];
  const script = ['cd "$0"', ...steps].join(' && ');
  return startHoldall(t, {
    root,
    settings,
    command: ['unshare', '--mount', 'sh', '-c', script, home, CHECKOUT, process.execPath],
    script: join(home, 'checkout/bin/holdall.js'),
  });
}

const isProblem = ({ level }: LogLine) => level === 'warn' || level === 'error';

/** The modes of files before and after their replacement. Without `isReadable`, the service can't read the file before. */
const CASES = [
  { group: SERVICE.member, mode: '640', after: '640', isReadable: true },
  { group: SERVICE.member, mode: '664', after: '664', isReadable: true },
  { group: SERVICE.member, mode: '600', after: '600', isReadable: false },
  { group: OTHER_GROUP, mode: '640', after: '600', isReadable: false },
  { group: OTHER_GROUP, mode: '664', after: '644', isReadable: true },
  { group: OTHER_GROUP, mode: '604', after: '604', isReadable: true },
];

const ACL = ['user::rw-', 'user:1234:rw-', 'group::rw-', 'mask::rw-', 'other::r--'];

const aclOf = async (path: string) => {
  const { stdout } = await run('getfacl', ['--omit-header', '--numeric', '--no-effective', path]);
  return stdout.split('\n').filter(Boolean);
};

const metadataOf = async (path: string) => {
  const { mode, uid, gid } = await lstat(path);
  return { uid, gid, mode: (mode & 0o7777).toString(8) };
};

/** Returns a folder that only its owner and the supplementary group of the service can use, and functions for its files. */
async function sharedFolder(t: Owner) {
  const root = await temporaryFolder(t);
  await chown(root, OWNER, SERVICE.member);
  await chmod(root, 0o770);
  const at = (name: string) => join(root, name);
  const plant = async (name: string, { group, mode }: { readonly group: number; readonly mode: string }) => {
    await writeFile(at(name), 'old');
    await chown(at(name), OWNER, group);
    await chmod(at(name), Number.parseInt(mode, 8));
  };
  return { root, at, plant };
}

describe('A service without privileges that replaces a file of another user', () => {
  const owner = ownerOfSuite();
  let folder: Awaited<ReturnType<typeof sharedFolder>>;
  let service: Awaited<ReturnType<typeof startUnprivileged>>;
  before(async () => {
    folder = await sharedFolder(owner);
    service = await startUnprivileged(owner, folder.root);
  });

  it('keeps the old content as a version that no more users can read, or refuses', async () => {
    const { at, plant } = folder;
    for (const each of CASES) await plant(`${each.group}-${each.mode}`, each);
    const { port } = service;
    for (const { group, mode, isReadable } of CASES) {
      const name = `${group}-${mode}`;
      const response = await postForm(port, [{ name: 'file', filename: name, value: 'new' }]);
      if (isReadable) {
        assert.equal(response.status, 200, name);
        continue;
      }
      // The content that can't be read can't become a version.
      assertFailure(response, 403, /denied access/);
      assert.equal(await readFile(at(name), 'utf8'), 'old');
      assert.deepEqual(await metadataOf(at(name)), { uid: OWNER, gid: group, mode });
    }
    const { stdout } = await run('find', [at('.holdall/versions'), '-type', 'f', '-printf', '%U %m %h\n']);
    const versions = stdout.trim().split('\n').toSorted();
    assert.equal(versions.length, CASES.filter(({ isReadable }) => isReadable).length, stdout);
    assert.equal((await metadataOf(at('.holdall'))).mode, '700');
  });

  it('keeps the ACL, in which another group has no more permissions than everyone', async () => {
    const { at, plant } = folder;
    for (const group of [SERVICE.member, OTHER_GROUP]) {
      await plant(`${group}`, { group, mode: '640' });
      await run('setfacl', ['--set', ACL.join(','), at(`${group}`)]);
    }
    const { port, log } = service;
    const seen = log.filter(isProblem).length;
    for (const group of [SERVICE.member, OTHER_GROUP]) await upload(port, `${group}`, 'new');
    assert.deepEqual(await aclOf(at(`${SERVICE.member}`)), ACL);
    assert.deepEqual(
      await aclOf(at(`${OTHER_GROUP}`)),
      ACL.map((entry) => entry.replace('group::rw-', 'group::r--')),
    );
    assert.deepEqual(log.filter(isProblem).slice(seen), []);
  });

  it('lists a file that only an ACL forbids in a ZIP archive, and has the others', async () => {
    const { root } = folder;
    await plantTree(root);
    await run('setfacl', ['--modify', `user:${SERVICE.uid}:---`, join(root, 'a/secret')]);
    const archive = { 'a/open': 'a/open', 'Missing files.txt': MISSING };
    // The second archive is from cached listings.
    for (let attempt = 1; attempt <= 2; attempt++) assert.deepEqual(await zipOf(service.port), archive);
  });
});

describe('A service without privileges and versions', () => {
  it('keeps the mode and group, and gives another group no more permissions than everyone', async (t) => {
    const { root, at, plant } = await sharedFolder(t);
    for (const each of CASES) await plant(`${each.group}-${each.mode}`, each);
    const { port, log } = await startUnprivileged(t, root, { VERSIONS_DAYS: '0' });
    for (const { group, mode, after } of CASES) {
      const name = `${group}-${mode}`;
      await upload(port, name, 'new');
      const gid = group === SERVICE.member ? group : SERVICE.gid;
      assert.deepEqual(await metadataOf(at(name)), { uid: SERVICE.uid, gid, mode: after }, name);
    }
    assert.deepEqual(log.filter(isProblem), []);
  });
});

describe('A service of root without capabilities', () => {
  it('lists a file that it can not read in a ZIP archive, and has the others', async (t) => {
    const root = await temporaryFolder(t);
    await plantTree(root);
    await chmod(join(root, 'a/secret'), 0o600);
    const { port } = await startUnprivileged(t, root, {}, AS_POWERLESS_ROOT);
    assert.deepEqual(await zipOf(port), { 'a/open': 'a/open', 'Missing files.txt': MISSING });
  });
});

const MISSING = 'This archive is incomplete. Holdall could not read:\n\n"a/secret": the service has no permission\n';

async function zipOf(port: number): Promise<Readonly<Record<string, string>>> {
  const { status, body } = await send(port, '/-/zip/a/');
  assert.equal(status, 200, body.toString());
  return Object.fromEntries(parseArchive(body).map(({ name, content }) => [name, content.toString()]));
}

async function plantTree(root: string): Promise<void> {
  await mkdir(join(root, 'a'));
  for (const name of ['a/open', 'a/secret']) {
    await writeFile(join(root, name), name);
    await chown(join(root, name), OWNER, OTHER_GROUP);
  }
}
