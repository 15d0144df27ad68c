import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import sharp from 'sharp';
import { temporaryFolder } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { assertSameBytes } from '../contract/bytes.ts';
import {
  assertFailure,
  assertSuccess,
  escapePath,
  type HttpResponse,
  jsonOf,
  postJson,
  send,
  upload,
} from '../http/client.ts';
import { contentsOf, untilNoTemporaryFiles } from '../process/temporary-files.ts';
import { ORDERS, openUpload } from '../process/transfers.ts';
import { fill } from './filled.ts';
import { mountTmpfs } from './mounts.ts';

const MIB = 1024 * 1024;

it('handles a full disk', async (t) => {
  const root = join(await temporaryFolder(t), 'root');
  const reason = await mountTmpfs(t, root, 'size=8m');
  if (reason) return t.skip(reason);
  const { port } = await startInProcess(t, { root, settings: { LOG_LEVEL: 'info', MIN_FREE_SPACE: '0' } });
  const old = Buffer.alloc(3 * MIB, 'old');
  await upload(port, 'folder/old', old);
  const image = await sharp({ create: { width: 400, height: 400, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  await upload(port, 'image.png', image);
  const contents = await contentsOf(root);

  const assertUntouched = async () => {
    assert.deepEqual(await readFile(join(root, 'folder/old')), old);
    assert.deepEqual(await contentsOf(root), contents);
    await untilNoTemporaryFiles(root);
    assertSuccess(await send(port, '/-/health/ready'), { message: 'The service is ready.', database: 'available' });
  };

  for (const order of ORDERS) {
    for (const path of ['folder/old', 'new folder/new']) {
      await t.test(`returns 507 with the reason for an upload that does not fit: ${path}, ${order}`, async () => {
        assertFull(await uploadIn(port, path, order, Buffer.alloc(16 * MIB, 'new')));
        await assertUntouched();
      });
    }
  }

  await t.test('returns 507 for a part that does not fit, and then cancels its upload', async () => {
    const tus = { 'tus-resumable': '1.0.0' };
    const begun = await send(port, '/-/uploads', {
      method: 'POST',
      headers: { ...tus, 'upload-length': String(16 * MIB), 'upload-metadata': 'path bmV3' },
    });
    const url = String(begun.headers.location);
    const part = { ...tus, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
    assertFull(await send(port, url, { method: 'PATCH', headers: part, body: Buffer.alloc(16 * MIB) }));
    const { status, headers } = await send(port, url, { method: 'HEAD', headers: tus });
    assert.equal(status, 200);
    assert.ok(Number(headers['upload-offset']) > 0);
    assert.equal((await send(port, url, { method: 'DELETE', headers: tus })).status, 204);
    await assertUntouched();
  });

  for (const isFolder of [false, true]) {
    await t.test(`returns 507 and the reason if a ${isFolder ? 'folder' : 'file'} copy does not fit`, async () => {
      const source = isFolder ? 'folder' : 'folder/old';
      const copy = { source, destination: 'copy', is_folder: isFolder };
      await upload(port, 'second', old);
      assertFull(await postJson(port, '/copy', copy));
      assert.ok(!existsSync(join(root, 'copy')));
      await rm(join(root, 'second'));
      await assertUntouched();
    });
  }

  await t.test('returns 507 for small uploads without free space and serves requests that need none', async () => {
    await fill(join(root, 'filler'));
    for (const order of ORDERS) assertFull(await uploadIn(port, 'small', order, Buffer.alloc(100_000, 'small')));
    assert.ok((await send(port, '/file/image.png')).body.equals(image));
    assert.equal((await send(port, '/')).status, 200);
    const thumbnail = await send(port, '/thumb/image.png');
    assert.deepEqual([thumbnail.status, thumbnail.headers['content-type']], [200, 'image/jpeg']);
    assert.equal((await postJson(port, '/rename/image.png', { newName: 'picture.png' })).status, 200);
  });

  await t.test('accepts a small upload after a permanent deletion frees space', async () => {
    // The trash needs space for its record, and would not free any.
    assertFailure(
      await send(port, `/delete/${escapePath('filler')}`, { method: 'DELETE' }),
      507,
      'The store has no space to record "filler" in the trash. Delete it permanently to free space.',
    );
    assertSuccess(await send(port, `/delete/${escapePath('filler')}?permanent=true`, { method: 'DELETE' }), {
      message: 'File deleted successfully',
    });
    for (const order of ORDERS) {
      const bytes = Buffer.alloc(100_000, order);
      const response = await uploadIn(port, `small ${order}`, order, bytes);
      assertSuccess(response, { message: 'File uploaded successfully', path: `small ${order}` });
      assertSameBytes(await readFile(join(root, `small ${order}`)), bytes);
    }
    await untilNoTemporaryFiles(root);
  });
});

it('refuses new content below MIN_FREE_SPACE, and nothing else', async (t) => {
  const root = join(await temporaryFolder(t), 'root');
  const reason = await mountTmpfs(t, root, 'size=16m');
  if (reason) return t.skip(reason);
  const { port } = await startInProcess(t, { root, settings: { MIN_FREE_SPACE: '4MiB' } });
  const bytes = Buffer.alloc(MIB, 'bytes');
  const put = (path: string, body: Buffer) => send(port, path, { method: 'PUT', body });
  const ready = async () => jsonOf(await send(port, '/-/health/ready'));

  // There would be space for it, but not for the next one.
  const large = await put('/file/large', Buffer.alloc(13 * MIB));
  assertFailure(large, 507, /no space for 13631488 bytes/);
  assert.equal((await put('/-/dav/large', Buffer.alloc(13 * MIB))).status, 507);
  for (let number = 0; number < 5; number++) assert.equal((await put(`/file/folder/${number}`, bytes)).status, 201);
  for (const status of [201, 200])
    assert.equal((await put('/file/replaced', Buffer.alloc(1000, status))).status, status);
  assert.equal((await postJson(port, '/create_folder', { path: 'empty' })).status, 200);
  assert.equal((await ready())['status'], undefined);
  await writeFile(join(root, 'filler'), Buffer.alloc(8 * MIB));
  await until('it is degraded', async () => (await ready())['status'] === 'degraded');
  assert.deepEqual((await ready())['almostFull'], ['files', 'state', 'cache']);

  const copy = { source: 'folder/0', destination: 'copy', is_folder: false };
  const tus = { 'tus-resumable': '1.0.0', 'upload-length': '1', 'upload-metadata': 'path bmV3' };
  const [version] = (jsonOf(await send(port, '/-/versions/replaced')) as { versions: { id: string }[] }).versions;
  const refused: [string, () => Promise<HttpResponse>][] = [
    ...ORDERS.map((order): [string, () => Promise<HttpResponse>] => [
      order,
      () => uploadIn(port, 'new', order, Buffer.from('x')),
    ]),
    ['a PUT', () => put('/file/new', Buffer.from('x'))],
    ['an upload in parts', () => send(port, '/-/uploads', { method: 'POST', headers: tus })],
    ['a copy', () => postJson(port, '/copy', copy)],
    ['a copy of a folder', () => postJson(port, '/copy', { source: 'folder', destination: 'copies', is_folder: true })],
    ['a new folder', () => postJson(port, '/create_folder', { path: 'new' })],
    ['a restored version', () => postJson(port, '/-/versions/replaced', { version: version?.id })],
  ];
  for (const [name, attempt] of refused) {
    const { status, body } = await attempt();
    assert.deepEqual([status, JSON.parse(body.toString()).code], [507, 'store-full'], name);
  }
  assert.equal((await put('/-/dav/new', Buffer.from('x'))).status, 507);
  assert.equal((await send(port, '/-/dav/new', { method: 'MKCOL' })).status, 507);
  for (const [source, target] of [
    ['folder/0', 'copy'],
    ['folder/', 'copies'],
    ['folder/', 'empty'],
  ]) {
    for (const depth of ['0', 'infinity']) {
      const headers = { destination: `/-/dav/${target}`, depth };
      assert.equal(
        (await send(port, `/-/dav/${source}`, { method: 'COPY', headers })).status,
        507,
        `${target} ${depth}`,
      );
    }
  }
  assert.equal((await send(port, '/-/dav/empty/', { method: 'PROPFIND', headers: { depth: '0' } })).status, 207);

  assert.equal((await send(port, '/file/folder/0')).status, 200);
  assert.equal((await postJson(port, '/rename/folder/0', { newName: 'renamed' })).status, 200);
  assert.equal((await send(port, '/delete/filler', { method: 'DELETE' })).status, 200);
  assert.equal((await put('/file/new', Buffer.from('x'))).status, 507);
  assert.equal((await send(port, '/-/trash', { method: 'DELETE' })).status, 200);
  assert.equal((await put('/file/new', Buffer.from('x'))).status, 201);
});

function assertFull(response: HttpResponse): void {
  assertFailure(response, 507, 'The disk is full.');
  assert.match(String(response.headers['retry-after']), /^\d+$/);
}

async function uploadIn(
  port: number,
  path: string,
  order: (typeof ORDERS)[number],
  bytes: Buffer,
): Promise<HttpResponse> {
  const opened = await openUpload(port, path, order);
  // The request is rejected before its end. Only the response matters.
  opened.send(bytes).catch(() => {});
  return opened.finish();
}
