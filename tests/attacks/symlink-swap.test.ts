import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { until } from '../../testing/until.ts';
import { json, type NamedRequest, requestsForFile, requestsForFolder, uploadRequest } from '../faults/path-requests.ts';
import { startSwapping, stopSwapping } from '../faults/swapping.ts';
import { contentsOf } from '../process/temporary-files.ts';
import { type AttackedService, SECRET, startAttackedService } from './attacked-service.ts';

/** At least. There are more until requests have met the folder and the link. */
const ROUNDS = 2;

it('does not follow a symbolic link from a granted folder to another folder', async (t) => {
  const service = await startAttackedService(t);
  const links = {
    'by its path': join(service.root, 'other'),
    'by dots': '../other',
    outside: join(service.base, 'other'),
  };

  await t.test('rejects every request through a static link', async () => {
    for (const [name, target] of Object.entries(links)) {
      await symlink(target, join(service.root, 'mine', name));
      const entrances = [
        ...requestsForFile(`mine/${name}/secret.txt`),
        ...requestsForFile(`mine/${name}/image.png`),
        ...requestsForFolder(`mine/${name}`),
        ...requestsForFolder(`mine/${name}/folder`),
      ];
      for (const [what, path, call] of entrances) {
        const { status, body } = await service.attack(path, call);
        // The status is 403 for requests that would write to the root.
        assert.ok([403, 404, 409].includes(status), `${what} ${path}: ${status} ${body.toString()}`);
      }
    }
    await service.assertUntouched('a link');
  });

  // A link out of the served folder: tests/faults/links-swapped.test.ts.
  await t.test('rejects access through a link that is swapped with a folder during requests', async (test) => {
    service.restore();
    const swapping = { names: ['swapped'], target: links['by dots'], files: ['secret.txt', 'victim'] };
    const swapper = await startSwapping(test, join(service.root, 'mine'), swapping);
    const statuses = new Set<number>();
    let round = 0;
    await until('requests have met both entries', async () => {
      const responses = requests(round++).map(([, path, call]) => service.attack(path, call));
      for (const { status } of await Promise.all(responses)) statuses.add(status);
      return round >= ROUNDS && statuses.has(200) && statuses.has(404);
    });
    await stopSwapping(swapper);
    await service.assertUntouched('a swapped link');
    await assertNoSecretIn(service);
  });
});

/** The concurrent requests. Their copies and moves end in `mine/` again. */
function requests(round: number): NamedRequest[] {
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
    uploadRequest('mine/swapped/secret.txt', 'prefix first'),
    uploadRequest(`mine/swapped/new ${round}`, 'file first'),
    ['create a folder', '/create_folder', json({ path: `mine/swapped/made ${round}/deep` })],
  ];
}

async function assertNoSecretIn({ root }: AttackedService): Promise<void> {
  const mine = join(root, 'mine');
  for (const path of await contentsOf(mine)) {
    const isTaken = path.includes(SECRET) || (path.endsWith('.txt') && holdsSecret(join(mine, path)));
    assert.ok(!isTaken, `${path} contains a secret.`);
  }
}

function holdsSecret(path: string): boolean {
  return readFileSync(path, { encoding: 'utf8' }).includes(SECRET);
}
