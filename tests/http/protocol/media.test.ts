import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { memory } from '../../contract/backend.ts';
import { plain, RED } from '../../thumbnails/images.ts';
import { assertFailure, jsonOf, listed, plant, postJson, send, upload } from '../client.ts';
import { startService, type TestService } from '../service.ts';

describe('The details of images', () => {
  let service: TestService;
  const TAKEN = '2026-11-01T20:41:00';
  before(async () => {
    service = await startService(memory);
    const photo = plain(RED, 60, 40).withExif({
      IFD0: { Make: 'Canon', Model: 'EOS R6' },
      IFD2: { DateTimeOriginal: '2026:11:01 20:41:00' },
    });
    await upload(service.port, 'a b/photo.jpg', await photo.jpeg().toBuffer());
    await upload(service.port, 'plain.png', await plain(RED, 30, 20).png().toBuffer());
    await plant(service.port, { 'text.txt': 'just text', 'fake.jpg': 'just text', 'empty.jpg': '' });
  });
  after(() => service.stop());

  const list = (paths: unknown) => postJson(service.port, '/-/media', { paths });

  it('lists the sizes and times in the order of the paths, without files that have none', async () => {
    const paths = [
      'plain.png',
      'missing.jpg',
      'text.txt',
      'a b/photo.jpg',
      'fake.jpg',
      'a b',
      'empty.jpg',
      'plain.png',
    ];
    const response = await list(paths);
    assert.deepEqual([response.status, response.headers['cache-control']], [200, 'no-store']);
    const [photo, picture] = [await listed(service.port, 'a b/photo.jpg'), await listed(service.port, 'plain.png')];
    const item = { path: 'plain.png', etag: picture.etag, width: 30, height: 20 };
    assert.deepEqual(jsonOf(response), {
      success: true,
      items: [item, { path: 'a b/photo.jpg', etag: photo.etag, width: 60, height: 40, takenAt: TAKEN }, item],
    });
    assert.deepEqual(jsonOf(await list(['text.txt', 'missing'])), { success: true, items: [] });
  });

  it('accepts 500 paths of any length, and rejects more and other bodies with 400', async () => {
    const long = Array.from({ length: 500 }, (_, index) => `${'é'.repeat(400)}${index}`);
    assert.deepEqual(jsonOf(await list(long)), { success: true, items: [] });
    assertFailure(await list([...long, 'x']), 400, /paths/);
    for (const paths of [[], 'x', undefined, [1], [null]]) assertFailure(await list(paths), 400, /paths/);
    assertFailure(await list(['a/../b']), 400, /segment "\.\."/);
    assertFailure(await list(['plain.png', 'a/']), 400, /empty segment/);
    assertFailure(await send(service.port, '/-/media', { method: 'POST' }), 400, /JSON|json/);
  });

  it('returns all details of one image, with an ETag', async () => {
    const get = (path: string, headers: Record<string, string> = {}) =>
      send(service.port, `/-/media/${path}`, { headers });
    const response = await get('a%20b/photo.jpg');
    assert.equal(response.status, 200);
    const media = { width: 60, height: 40, takenAt: TAKEN, camera: 'Canon EOS R6' };
    assert.deepEqual(jsonOf(response), { success: true, media });
    const etag = String(response.headers.etag);
    const unchanged = await get('a%20b/photo.jpg', { 'if-none-match': etag });
    assert.deepEqual([unchanged.status, unchanged.headers.etag], [304, etag]);
    assertFailure(await get('a%20b/photo.jpg', { 'if-match': '"other"' }), 412, /ETag of the details/);
    for (const path of ['text.txt', 'fake.jpg', 'empty.jpg']) {
      assertFailure(await get(path), 400, new RegExp(`"${path}" is not a readable image`));
    }
    assertFailure(await get('missing.jpg'), 404, /missing\.jpg/);
    assertFailure(await get('a%20b/'), 400, /empty segment/);
  });
});
