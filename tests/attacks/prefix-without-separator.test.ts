import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { json, type NamedRequest, requestsForFile, requestsForFolder, uploadRequest } from '../faults/path-requests.ts';
import { escapePath, jsonOf } from '../http/client.ts';
import { type AttackedService, startAttackedService } from './attacked-service.ts';

/** Names that start with `mine`, or that software could mistake for it. */
const SIBLINGS = ['mine2', 'Mine', 'mi', 'mine%2f'];

/** The client's folder is composed (NFC). This name looks the same. */
const COMPOSED = 'caf\u00e9';
const DECOMPOSED = 'cafe\u0301';

it('denies access to a folder whose name resembles or starts with that of a granted folder', async (t) => {
  const siblings = [...SIBLINGS, DECOMPOSED];
  const service = await startAttackedService(t, {
    closed: siblings.map((name) => `${name}/`),
    grants: [{ folder: `/${COMPOSED}/`, rights: ['read', 'write', 'manage'] }],
  });
  assert.equal((await service.attack('/file/mine/note.txt')).status, 200);

  for (const sibling of siblings) {
    await t.test(JSON.stringify(sibling), async () => {
      const secret = await service.requestAsOwner(`/file/${escapePath(sibling)}/secret.txt`);
      assert.equal(secret.status, 200, 'The secret exists.');
      await assertClosed(service, requestsForFile(`${sibling}/secret.txt`));
      await assertClosed(service, requestsForFolder(sibling));
      await assertClosed(service, requestsForFolder(`${sibling}/folder`));
      await assertClosed(service, transfersBetween('mine/note.txt', 'mine/folder', sibling));
      await service.assertUntouched(sibling);
    });
  }

  await t.test('omits the similarly named folders from the root listing', async () => {
    await mkdir(join(service.root, COMPOSED));
    const { entries } = jsonOf(await service.attack('/')) as { entries: { path: string }[] };
    assert.deepEqual(
      entries.map(({ path }) => path),
      [`${COMPOSED}/`, 'mine/'],
    );
  });
});

it('denies access to a file that has the name of a granted folder', async (t) => {
  const service = await startAttackedService(t, {
    grants: [{ folder: '/gone/', rights: ['read', 'write', 'manage'] }],
  });
  await writeFile(join(service.root, 'gone'), 'a file where the grant has a folder');
  for (const [what, path, call] of requestsForFile('gone')) {
    const { status, body } = await service.attack(path, call);
    assert.ok([403, 404].includes(status), `${what}: ${status} ${body.toString()}`);
    assert.ok(!body.includes('where the grant'), what);
  }
  const { body } = await service.requestAsOwner('/file/gone');
  assert.equal(body.toString(), 'a file where the grant has a folder');
});

it('does not copy, move or overwrite a denied folder inside a granted folder', async (t) => {
  const closed = ['mine/closed/', 'mine/deep/er/closed/'];
  const service = await startAttackedService(t, {
    closed,
    grants: [...closed.map((folder) => ({ folder: `/${folder}`, rights: [] })), { folder: '/box/', rights: ['write'] }],
  });
  // Entries that would replace the contents of a closed folder, if their folder replaced its parent.
  await mkdir(join(service.root, 'mine/look-alike/closed'), { recursive: true });
  await writeFile(join(service.root, 'mine/look-alike/closed/secret.txt'), 'planted');
  assert.equal((await service.requestAsOwner('/file/mine/closed/secret.txt')).status, 200);

  await t.test('denies requests for paths inside the denied folder', async () => {
    for (const folder of ['mine/closed', 'mine/deep/er/closed']) {
      await assertClosed(service, requestsForFile(`${folder}/secret.txt`));
      await assertClosed(service, requestsForFolder(folder));
      await assertClosed(service, transfersBetween('mine/note.txt', 'mine/folder', folder));
    }
  });

  await t.test('denies operations on its parent folders', async () => {
    const folder = (source: string, destination: string, overwrite = true) =>
      json({ source, destination, is_folder: true, overwrite });
    const requests: NamedRequest[] = [
      ['delete all', '/delete_folder/mine', { method: 'DELETE' }],
      ['delete its parent folder', '/delete_folder/mine/deep', { method: 'DELETE' }],
      ['rename all', '/rename_folder/mine', json({ newName: 'mine3' })],
      ['rename its parent folder', '/rename_folder/mine/deep', json({ newName: 'shallow' })],
      ['rename to its name', '/rename_folder/mine/folder', json({ newName: 'closed', overwrite: true })],
      ['move all', '/move', folder('mine', 'box/all')],
      ['copy all', '/copy', folder('mine', 'box/all')],
      ['move its parent folder', '/move', folder('mine/deep', 'mine/folder/deep')],
      ['copy its parent folder', '/copy', folder('mine/deep', 'mine/folder/deep')],
      ['copy a parent folder into another folder', '/copy', folder('mine/deep/er', 'mine/er')],
      ['copy a look-alike over its parent folder', '/copy', folder('mine/look-alike', 'mine')],
      ['move a look-alike over its parent folder', '/move', folder('mine/look-alike', 'mine')],
      ['copy a look-alike over a nested parent folder', '/copy', folder('mine/look-alike', 'mine/deep/er')],
      [
        'copy a look-alike over a nested parent folder, without overwrite',
        '/copy',
        folder('mine/look-alike', 'mine/deep/er', false),
      ],
    ];
    await assertClosed(service, requests);
  });

  await t.test('omits the denied folder from every page of a listing', async () => {
    const { entries } = jsonOf(await service.attack('/mine')) as { entries: { name: string }[] };
    assert.ok(entries.length > 3);
    let cursor = '';
    for (const { name } of entries) {
      assert.notEqual(name, 'closed');
      const page = jsonOf(await service.attack(`/mine?limit=1${cursor}`)) as {
        entries: { name: string }[];
        cursor?: string;
      };
      assert.deepEqual(
        page.entries.map((entry) => entry.name),
        [name],
      );
      cursor = `&cursor=${encodeURIComponent(page.cursor ?? '')}`;
    }
  });
  await service.assertUntouched('the closed folders');
});

/** Returns requests of a user with all permissions in one folder, which copy files into another one or out of it. */
function transfersBetween(file: string, folder: string, closed: string): NamedRequest[] {
  return [false, true].flatMap((overwrite): NamedRequest[] => {
    const transfer = (source: string, destination: string, isFolder: boolean) =>
      json({ source, destination, is_folder: isFolder, overwrite });
    return [
      ['copy a file into it', '/copy', transfer(file, `${closed}/new.txt`, false)],
      ['move a file into it', '/move', transfer(file, `${closed}/new.txt`, false)],
      ['copy a folder into it', '/copy', transfer(folder, `${closed}/new`, true)],
      ['move a folder to it', '/move', transfer(folder, closed, true)],
      ['copy a folder over it', '/copy', transfer(folder, closed, true)],
      ['copy a file out of it', '/copy', transfer(`${closed}/secret.txt`, `${folder}/taken.txt`, false)],
      ['move a file out of it', '/move', transfer(`${closed}/secret.txt`, `${folder}/taken.txt`, false)],
      ['copy it', '/copy', transfer(closed, `${folder}/taken`, true)],
      ['move it', '/move', transfer(closed, `${folder}/taken`, true)],
      ['move a folder in it', '/move', transfer(`${closed}/folder`, `${folder}/taken`, true)],
      uploadRequest(`${closed}/new.txt`, 'prefix first'),
      uploadRequest(`${closed}/secret.txt`, 'file first'),
    ];
  });
}

/** Asserts that each request returns 403. A user with all permissions would get another status. */
async function assertClosed({ attack }: AttackedService, entrances: readonly NamedRequest[]): Promise<void> {
  for (const [what, path, call] of entrances) {
    const { status, body } = await attack(path, call);
    assert.equal(status, 403, `${what} ${path} ${call.body?.toString() ?? ''}: ${status} ${body.toString()}`);
  }
}
