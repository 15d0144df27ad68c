import assert from 'node:assert/strict';
import { mkdir, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import sharp from 'sharp';
import { temporaryFolder } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { jsonOf, postJson, send } from '../http/client.ts';
import { untilNoTemporaryFiles } from '../process/temporary-files.ts';
import { signedPath } from '../process/transfers.ts';
import { type NamedRequest, requestsForFile, requestsForFolder } from './path-requests.ts';
import { snapshot } from './trees.ts';

const SECRET = 'a secret from outside';

it('treats a symbolic link under the root as neither a file nor a folder at every endpoint', async (t) => {
  const base = await temporaryFolder(t);
  const [root, outside] = [join(base, 'root'), join(base, 'outside')];
  await mkdir(join(outside, 'sub'), { recursive: true });
  await writeFile(join(outside, 'file'), SECRET);
  await writeFile(join(outside, 'sub/file'), SECRET);
  await sharp({ create: { width: 10, height: 10, channels: 3, background: 'red' } })
    .png()
    .toFile(join(outside, 'image.png'));
  const { port, log } = await startInProcess(t, { root });
  await writeFile(join(root, 'mine'), 'my bytes');
  await mkdir(join(root, 'my folder/sub'), { recursive: true });
  await writeFile(join(root, 'my folder/file'), 'my bytes');

  const links: Record<string, string> = {
    'to a file outside': join(outside, 'file'),
    'to an image outside.png': join(outside, 'image.png'),
    'to a folder outside': outside,
    'to a folder outside by dots': '../outside',
    'to another link that leads outside': join(root, 'to a folder outside'),
    'to the root of the machine': '/',
    'to nothing': join(outside, 'nothing'),
    'to itself': join(root, 'to itself'),
    'to a file inside': join(root, 'mine'),
    'to a folder inside': 'my folder',
    'to the root': '.',
  };
  for (const [name, target] of Object.entries(links)) await symlink(target, join(root, name));
  await mkdir(join(root, 'with a link'));
  await symlink(outside, join(root, 'with a link/deep'));
  const outsideBefore = await snapshot(outside);
  const before = await snapshotOf(base);

  await t.test('omits links from listings and logs their count', async () => {
    const { entries } = jsonOf(await send(port, '/')) as { entries: { name: string }[] };
    assert.deepEqual(
      entries.map(({ name }) => name),
      ['mine', 'my folder', 'with a link'],
    );
    const count = Object.keys(links).length;
    await until('a line of the log counts them', () =>
      log.some(({ folder, omitted }) => folder === '' && omitted === count),
    );
  });

  for (const name of [...Object.keys(links), 'with a link/deep']) {
    const entrances = requestsFor(name);
    await t.test(`returns 404 or 409 for ${entrances.length} requests to ${name} and changes no file`, async () => {
      for (const [what, path, call] of entrances) {
        const { status, body } = await send(port, path, call);
        const description = `${what} ${path} ${call.body?.toString() ?? ''}: ${status} ${body.toString()}`;
        assert.ok(status === 404 || status === 409, description);
        assert.ok(!body.includes(SECRET), description);
      }
      assert.deepEqual(await snapshotOf(base), before);
    });
  }

  await t.test('returns 404 for a signed URL when a link has replaced the file', async () => {
    const path = join(root, 'large');
    await writeFile(path, Buffer.alloc(6 * 1024 * 1024, 'mine'));
    const signed = await signedPath(port, 'large');
    assert.equal((await send(port, signed, { method: 'HEAD' })).status, 200);
    await rm(path);
    await symlink(join(outside, 'file'), path);
    assert.equal((await send(port, signed)).status, 404);
    await rm(path);
  });

  await t.test(
    'copies a folder without its links, moves it with them, and deletes it without touching the link targets',
    async () => {
      await symlink(outside, join(root, 'my folder/deep'));
      const folder = { is_folder: true, source: 'my folder' };
      assert.equal((await postJson(port, '/copy', { ...folder, destination: 'copy' })).status, 200);
      assert.deepEqual(await readdir(join(root, 'copy')), ['file', 'sub']);
      assert.equal((await postJson(port, '/move', { ...folder, destination: 'moved' })).status, 200);
      assert.equal(await readlink(join(root, 'moved/deep')), outside);
      assert.equal((await send(port, '/delete_folder/moved', { method: 'DELETE' })).status, 200);
      await untilNoTemporaryFiles(root);
      assert.deepEqual(await snapshot(outside), outsideBefore);
    },
  );

  await t.test('replaces a folder that contains links without changing the link targets', async () => {
    await symlink(outside, join(root, 'copy/deep'));
    await mkdir(join(root, 'other'));
    const copy = { source: 'other', destination: 'copy', is_folder: true, overwrite: true };
    assert.equal((await postJson(port, '/copy', copy)).status, 200);
    assert.deepEqual(await readdir(join(root, 'copy')), []);
    await untilNoTemporaryFiles(root);
    assert.deepEqual(await snapshot(outside), outsideBefore);
  });
});

/** The links to which every request is sent. The other ones get one request of each kind. */
const TRIED_IN_FULL: readonly string[] = ['to a file outside', 'to a folder outside'];

const ONE_OF_EACH_KIND: ReadonlySet<string> = new Set([
  'fetch',
  'thumbnail',
  'delete',
  'copy from',
  'move to',
  'upload, prefix first',
  'list',
  'create folder below',
  'delete folder',
]);

function requestsFor(link: string): NamedRequest[] {
  const itself = [...requestsForFile(link), ...requestsForFolder(link)];
  const below = [...requestsForFile(`${link}/file`), ...requestsForFolder(`${link}/sub`)];
  if (TRIED_IN_FULL.includes(link)) return [...itself, ...below];
  return [...itself, ...below.slice(0, 1)].filter(([what]) => ONE_OF_EACH_KIND.has(what));
}

/** Describes the root and its surroundings, except for the service's own folder. */
async function snapshotOf(base: string): Promise<Record<string, string>> {
  const all = await snapshot(base);
  return Object.fromEntries(Object.entries(all).filter(([path]) => !path.startsWith('root/.holdall')));
}
