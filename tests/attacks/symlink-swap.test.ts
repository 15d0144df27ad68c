import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { type Entrance, fileEntrances, folderEntrances, json, uploadTo } from '../faults/entrances.ts';
import { startSwapping, stopSwapping } from '../faults/swapping.ts';
import { isFullForm } from '../full-forms.ts';
import { contentsOf } from '../process/temporary-files.ts';
import { type House, SECRET, startHouse } from './house.ts';

const ROUNDS = isFullForm ? 15 : 7;

it('does not follow a symbolic link from a granted folder to another folder', async (t) => {
  const house = await startHouse(t);
  const links = { 'by its path': join(house.root, 'other'), 'by dots': '../other', outside: join(house.base, 'other') };

  await t.test('rejects every request through a static link', async () => {
    for (const [name, target] of Object.entries(links)) {
      await symlink(target, join(house.root, 'mine', name));
      const entrances = [
        ...fileEntrances(`mine/${name}/secret.txt`),
        ...fileEntrances(`mine/${name}/image.png`),
        ...folderEntrances(`mine/${name}`),
        ...folderEntrances(`mine/${name}/folder`),
      ];
      for (const [what, path, call] of entrances) {
        const { status, body } = await house.attack(path, call);
        // The status is 403 for requests that would write to the root.
        assert.ok([403, 404, 409].includes(status), `${what} ${path}: ${status} ${body.toString()}`);
      }
    }
    await house.assertUntouched('a link');
  });

  for (const [name, target] of Object.entries(links)) {
    await t.test(`rejects access through a link (${name}) swapped with a folder during requests`, async (test) => {
      house.restore();
      const files = ['secret.txt', 'victim'];
      const swapper = await startSwapping(test, join(house.root, 'mine'), { names: ['swapped'], target, files });
      const statuses = new Set<number>();
      for (let round = 0; round < ROUNDS; round++) {
        const responses = requests(round).map(([, path, call]) => house.attack(path, call));
        for (const { status } of await Promise.all(responses)) statuses.add(status);
      }
      await stopSwapping(swapper);
      assert.ok(statuses.has(200) && statuses.has(404), `Requests met both entries: ${[...statuses].join()}`);
      await house.assertUntouched(name);
      await assertNothingTaken(house);
    });
  }
});

/** The concurrent requests. Their copies and moves end in `mine/` again. */
function requests(round: number): Entrance[] {
  const transfer = (source: string, destination: string, isFolder: boolean) =>
    json({ source, destination, is_folder: isFolder, overwrite: true });
  return [
    ['fetch', '/file/mine/swapped/secret.txt', {}],
    ['fetch deeper', '/file/mine/swapped/folder/secret.txt', {}],
    ['thumbnail', '/thumb/mine/swapped/image.png', {}],
    ['list', '/mine/swapped', {}],
    ['list deeper', '/mine/swapped/folder', {}],
    ['delete', '/delete/mine/swapped/secret.txt', { method: 'DELETE' }],
    ['delete a folder', '/delete_folder/mine/swapped/folder', { method: 'DELETE' }],
    ['rename', '/rename/mine/swapped/secret.txt', json({ newName: `renamed ${round}`, overwrite: true })],
    ['copy', '/copy', transfer('mine/swapped/secret.txt', `mine/copied ${round}`, false)],
    ['copy all', '/copy', transfer('mine/swapped', `mine/all ${round}`, true)],
    ['move', '/move', transfer('mine/swapped/secret.txt', `mine/moved ${round}`, false)],
    ['move to', '/move', transfer('mine/note.txt', 'mine/swapped/secret.txt', false)],
    ['copy to', '/copy', transfer('mine/note.txt', 'mine/swapped/new.txt', false)],
    ['copy all to', '/copy', transfer('mine/folder', 'mine/swapped', true)],
    uploadTo('mine/swapped/secret.txt', 'prefix first'),
    uploadTo(`mine/swapped/new ${round}`, 'file first'),
    ['create a folder', '/create_folder', json({ path: `mine/swapped/made ${round}/deep` })],
  ];
}

async function assertNothingTaken({ root }: House): Promise<void> {
  const mine = join(root, 'mine');
  for (const path of await contentsOf(mine)) {
    const isTaken = path.includes(SECRET) || (path.endsWith('.txt') && holdsSecret(join(mine, path)));
    assert.ok(!isTaken, `${path} contains a secret.`);
  }
}

function holdsSecret(path: string): boolean {
  return readFileSync(path, { encoding: 'utf8' }).includes(SECRET);
}
