import assert from 'node:assert/strict';
import { lstatSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import sharp from 'sharp';
import { temporaryFolder } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { postJson, send, upload } from '../http/client.ts';
import { contentsOf } from '../process/temporary-files.ts';
import { json, type NamedRequest, uploadRequest } from './path-requests.ts';
import { startSwapping, stopSwapping } from './swapping.ts';
import { snapshot } from './trees.ts';

const SECRET = 'a secret from outside';
const FILES = ['shared', 'victim'];

/** Requests that succeed in the folder and fail at the link. */
const TELLTALES = ['fetch', 'upload, prefix first', 'upload, file first', 'list', 'create folder'];

const TREE_NAMES = Array.from({ length: 10 }, (_, index) => `swapped ${index}`);

/** The number of rounds with a file, a folder, and a folder that contains links. */
export interface Rounds {
  readonly files: number;
  readonly folders: number;
  readonly trees: number;
}

export function testSwappedLinks(rounds: Rounds): void {
  it('does not follow a link outside the root that is repeatedly swapped with a folder', async (t) => {
    const { port, root } = await startInProcess(t);

    await t.test('does not read, write or delete files through the link', async (test) => {
      const outside = await makeOutside(test);
      await upload(port, 'mine', 'my bytes');
      const swapper = await startSwapping(test, root, { names: ['swapped'], target: outside.folder, files: FILES });
      const statuses = new Map<string, Set<number>>();
      const hasSeenBoth = (what: string) => (statuses.get(what)?.size ?? 0) > 1;
      const isDone = (round: number) => round >= rounds.files && TELLTALES.every(hasSeenBoth);
      let round = 0;
      await until('the requests have met both the folder and the link', async () => {
        const responses = fileRequests(round++).map((entrance) => sendGuarded(port, entrance));
        for (const [what, status] of await Promise.all(responses))
          statuses.set(what, (statuses.get(what) ?? new Set()).add(status));
        return isDone(round);
      });
      await stopSwapping(swapper);
      await outside.assertUntouched();
      await assertNoSecretIn(root);
    });

    await t.test('does not delete, move or copy the link target as a folder', async (test) => {
      const outside = await makeOutside(test);
      await mkdir(join(root, 'other'));
      await writeFile(join(root, 'other/file'), 'inside');
      const swapper = await startSwapping(test, root, { names: ['swapped'], target: outside.folder, files: FILES });
      for (let round = 0; round < rounds.folders; round++) {
        await Promise.all(folderRequests(round).map((entrance) => sendGuarded(port, entrance)));
      }
      await stopSwapping(swapper);
      await outside.assertUntouched();
      await assertNoSecretIn(root);
    });

    await t.test('does not delete the link target with the parent folder of the link', async (test) => {
      const outside = await makeOutside(test);
      for (let round = 0; round < rounds.trees; round++) {
        const tree = join(root, `tree ${round}`);
        await mkdir(tree);
        for (let index = 0; index < 20; index++) await writeFile(join(tree, `file ${index}`), 'inside');
        // Its working directory stays this folder, wherever the service moves it to.
        const swapper = await startSwapping(test, tree, { names: TREE_NAMES, target: outside.folder, files: FILES });
        const { status } = await send(port, `/delete_folder/tree%20${round}`, { method: 'DELETE' });
        assert.equal(status, 200);
        await stopSwapping(swapper);
      }
      await outside.assertUntouched();
    });

    assert.equal((await postJson(port, '/create_folder', { path: 'afterwards' })).status, 200);
  });
}

/** A folder outside of every root, with names that also exist inside, and with other names. */
async function makeOutside(t: TestContext) {
  const folder = await temporaryFolder(t);
  await mkdir(join(folder, 'sub'));
  for (const name of [...FILES, 'of outside alone', 'sub/file']) await writeFile(join(folder, name), SECRET);
  const image = sharp({ create: { width: 10, height: 10, channels: 3, background: 'red' } });
  await image.png().toFile(join(folder, 'image.png'));
  const before = await snapshot(folder);
  const assertUntouched = async () =>
    assert.deepEqual(await snapshot(folder), before, 'Nothing outside is made, changed or removed.');
  return { folder, assertUntouched };
}

async function assertNoSecretIn(root: string): Promise<void> {
  for (const path of await contentsOf(root)) {
    if (!lstatSync(join(root, path)).isFile()) continue;
    assert.ok(!(await readFile(join(root, path))).includes(SECRET), `${path} holds bytes of outside.`);
  }
}

function fileRequests(round: number): NamedRequest[] {
  const file = (source: string, destination: string) => json({ source, destination, is_folder: false });
  return [
    ['fetch', '/file/swapped/shared', {}],
    ['fetch of outside', '/file/swapped/of%20outside%20alone', {}],
    ['thumbnail of outside', '/thumb/swapped/image.png', {}],
    ['list', '/swapped', {}],
    ['list below', '/swapped/sub', {}],
    uploadRequest(`swapped/new ${round}`, 'prefix first'),
    uploadRequest(`swapped/other ${round}`, 'file first'),
    uploadRequest('swapped/shared', 'file first'),
    uploadRequest(`swapped/new folder ${round}/deep/new`, 'prefix first'),
    ['delete', '/delete/swapped/victim', { method: 'DELETE' }],
    ['delete of outside', '/delete/swapped/of%20outside%20alone', { method: 'DELETE' }],
    ['rename', '/rename/swapped/of%20outside%20alone', json({ newName: `renamed ${round}` })],
    ['copy from', '/copy', file('swapped/shared', `copied ${round}`)],
    ['copy from outside', '/copy', file('swapped/of outside alone', `outside ${round}`)],
    ['copy to', '/copy', file('mine', `swapped/copied ${round}`)],
    ['move from', '/move', file('swapped/victim', `moved ${round}`)],
    ['move to', '/move', file(`copied ${round - 1}`, `swapped/moved ${round}`)],
    ['create folder', '/create_folder', json({ path: `swapped/made ${round}/deep` })],
  ];
}

function folderRequests(round: number): NamedRequest[] {
  const folder = (source: string, destination: string) =>
    json({ source, destination, is_folder: true, overwrite: true });
  return [
    ['delete folder', '/delete_folder/swapped', { method: 'DELETE' }],
    ['delete folder by POST', '/delete_folder/swapped', { method: 'POST' }],
    ['delete folder below', '/delete_folder/swapped/sub', { method: 'DELETE' }],
    ['copy folder from', '/copy', folder('swapped', `copy ${round}`)],
    ['copy folder to', '/copy', folder('other', 'swapped')],
    ['move folder from', '/move', folder('swapped', `moved folder ${round}`)],
    ['move folder to', '/move', folder(`copy ${round - 1}`, 'swapped')],
    ['rename folder', '/rename_folder/swapped', json({ newName: `renamed folder ${round}` })],
  ];
}

/** Sends a request. Throws if the response contains content from outside, or is a fault of the service. */
async function sendGuarded(port: number, [what, path, call]: NamedRequest): Promise<[what: string, status: number]> {
  const { status, body } = await send(port, path, call);
  const description = `${what} ${path} ${call.body?.toString() ?? ''}: ${status} ${body.toString()}`;
  assert.ok(!body.includes(SECRET), description);
  assert.ok(!body.includes('outside alone"'), description);
  assert.ok(status === 200 || status === 404 || status === 409, description);
  if (status === 200) assert.doesNotMatch(what, /outside|below/, description);
  return [what, status];
}
