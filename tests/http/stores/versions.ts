import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import sharp from 'sharp';
import { newKeptId } from '../../../src/model/kept-ids.ts';
import { memory } from '../../contract/backend.ts';
import { assertFailure, assertSuccess, escapePath, jsonOf, plant, postJson, send, treeOf, upload } from '../client.ts';
import { servedEmpty } from '../service.ts';

interface Version {
  readonly id: string;
  readonly size: number;
  readonly modified: string | null;
  readonly replacedAt: string;
}

const RESTORED = { message: 'Version restored successfully' };

/** Tests the earlier contents of files. */
export function versionsSuite(): void {
  describe('Versions over HTTP', () => {
    const service = servedEmpty(memory);
    let port: number;
    before(() => ({ port } = service));

    const versionsOf = async (path: string, query = ''): Promise<readonly Version[]> => {
      const response = await send(port, `/-/versions/${escapePath(path)}${query}`);
      assert.equal(response.status, 200, response.body.toString());
      return (jsonOf(response) as unknown as { versions: Version[] }).versions;
    };
    const newest = async (path: string): Promise<string> =>
      (await versionsOf(path))[0]?.id ?? assert.fail(`${path} has no version`);
    const textOf = async (path: string, id: string) => {
      const response = await send(port, `/file/${escapePath(path)}?version=${id}`);
      assert.equal(response.status, 200, response.body.toString());
      return response.body.toString();
    };
    const textsOf = async (path: string) => Promise.all((await versionsOf(path)).map(({ id }) => textOf(path, id)));
    const writeAll = async (path: string, texts: readonly string[]) => {
      for (const text of texts) await upload(port, path, text);
    };

    it('deletes the versions of a file, and nothing else', async () => {
      await writeAll('d/f.txt', ['one', 'two', 'three']);
      await writeAll('d/f.txt.old', ['one', 'two']);
      const id = await newest('d/f.txt');
      const remove = () => send(port, '/-/versions/d/f.txt', { method: 'DELETE' });
      assertSuccess(await remove(), { message: 'Versions deleted successfully' });
      assert.deepEqual(await versionsOf('d/f.txt'), []);
      assert.equal((await send(port, `/file/d/f.txt?version=${id}`)).status, 404);
      assert.equal((await send(port, '/file/d/f.txt')).body.toString(), 'three');
      assert.deepEqual(await textsOf('d/f.txt.old'), ['one']);
      assertSuccess(await remove(), { message: 'Versions deleted successfully' });
      // Of a deleted file, too.
      await upload(port, 'd/f.txt', 'four');
      await send(port, '/delete/d/f.txt', { method: 'DELETE' });
      assert.equal((await versionsOf('d/f.txt')).length > 0, true);
      assertSuccess(await remove(), { message: 'Versions deleted successfully' });
      assert.deepEqual(await versionsOf('d/f.txt'), []);
      assertFailure(await send(port, '/-/versions/d/', { method: 'DELETE' }), 400, /d\//);
    });

    it('keeps the contents that uploads, copies, moves and renames replace', async () => {
      await writeAll('ä/f.txt', ['one', 'two', 'three']);
      assert.deepEqual(await textsOf('ä/f.txt'), ['two', 'one']);
      await plant(port, { a: 'a', b: 'b', 'ä/c': 'c' });
      const over = { destination: 'ä/f.txt', is_folder: false, overwrite: true };
      assert.equal((await postJson(port, '/copy', { source: 'a', ...over })).status, 200);
      assert.equal((await postJson(port, '/move', { source: 'b', ...over })).status, 200);
      const rename = { newName: 'f.txt', overwrite: true };
      assert.equal((await postJson(port, `/rename/${escapePath('ä/c')}`, rename)).status, 200);
      assert.deepEqual(await textsOf('ä/f.txt'), ['b', 'a', 'three', 'two', 'one']);
      const [version] = await versionsOf('ä/f.txt');
      assert.equal(version?.size, 1);
      assert.ok(Math.abs(Date.parse(version.replacedAt) - Date.now()) < 60_000);
    });

    it('keeps the contents of files that are replaced at once', async () => {
      const names = Array.from({ length: 12 }, (_, index) => `f/${index}`);
      const treeWith = (text: string) => Object.fromEntries(names.map((name) => [name, `${text} ${name}`]));
      await plant(port, treeWith('old'));
      await plant(port, treeWith('new'));
      assert.deepEqual(await treeOf(port), { 'f/': null, ...treeWith('new') });
      for (const name of names) assert.deepEqual(await textsOf(name), [`old ${name}`]);
    });

    it('lists in pages', async () => {
      await writeAll('a', ['1', '2', '3', '4']);
      const all = await versionsOf('a');
      const first = jsonOf(await send(port, '/-/versions/a?limit=2')) as { versions: Version[]; cursor: string };
      const rest = await versionsOf('a', `?limit=2&cursor=${encodeURIComponent(first.cursor)}`);
      assert.deepEqual([...first.versions, ...rest], all);
      assert.equal(all.length, 3);
      assert.deepEqual(await versionsOf('missing'), []);
      assertFailure(await send(port, '/-/versions/a?cursor=../x'), 400, /cursor/);
      assertFailure(await send(port, '/-/versions/a?limit=1001'), 400, /"limit"/);
      assertFailure(await send(port, '/-/versions/'), 400, /is empty/);
    });

    it('fetches a version with ranges and conditions', async () => {
      await writeAll('a.txt', ['0123456789', 'new']);
      const path = `/file/a.txt?version=${await newest('a.txt')}`;
      const whole = await send(port, path);
      assert.equal(whole.body.toString(), '0123456789');
      const { etag = '' } = whole.headers;
      assert.notEqual(etag, (await send(port, '/file/a.txt')).headers.etag);
      const part = await send(port, path, { headers: { range: 'bytes=2-4' } });
      assert.deepEqual(
        [part.status, part.body.toString(), part.headers['content-range']],
        [206, '234', 'bytes 2-4/10'],
      );
      const outside = await send(port, path, { headers: { range: 'bytes=20-' } });
      assert.deepEqual([outside.status, outside.headers['content-range']], [416, 'bytes */10']);
      const head = await send(port, path, { method: 'HEAD' });
      assert.deepEqual([head.status, head.headers['content-length'], head.headers.etag], [200, '10', etag]);
      assert.equal((await send(port, path, { headers: { 'if-none-match': etag } })).status, 304);
      assert.equal((await send(port, path, { headers: { 'if-match': '"other"' } })).status, 412);
      const attachment = await send(port, `${path}&download=1`);
      assert.match(attachment.headers['content-disposition'] ?? '', /^attachment; filename="a\.txt"/);
      // A new content must not change the response for the version.
      await upload(port, 'a.txt', 'newer');
      assert.deepEqual((await send(port, path)).body, whole.body);
    });

    it('returns 404 for unknown versions, and 400 for ids that no store can issue', async () => {
      await writeAll('a', ['1', '2']);
      await plant(port, { b: '1' });
      const id = await newest('a');
      const unknown = newKeptId();
      for (const route of ['file', 'thumb']) {
        const missing = await send(port, `/${route}/a?version=${unknown}`);
        assertFailure(missing, 404, `The file "a" has no version "${unknown}".`);
        assertFailure(await send(port, `/${route}/b?version=${id}`), 404, `The file "b" has no version "${id}".`);
        for (const hostile of ['', '..', '../b', '.x', 'a/b', '\u0000'])
          assertFailure(
            await send(port, `/${route}/a?version=${encodeURIComponent(hostile)}`),
            400,
            /^The id ".*" is not valid\. Take ids from the listing\.$/s,
          );
      }
      assertFailure(await postJson(port, '/-/versions/a', { version: unknown }), 404, /has no version/);
      assertFailure(await postJson(port, '/-/versions/a', { version: '../b' }), 400, /is not valid/);
      assertFailure(await postJson(port, '/-/versions/a', {}), 400, 'The body lacks "version".');
    });

    it('restores a version, and keeps the content that it replaces', async () => {
      await writeAll('f/a', ['one', 'two']);
      const response = await postJson(port, '/-/versions/f/a', { version: await newest('f/a') });
      assertSuccess(response, { ...RESTORED, path: 'f/a' });
      assert.equal(response.headers.etag, (await send(port, '/file/f/a')).headers.etag);
      assert.deepEqual(await treeOf(port), { 'f/': null, 'f/a': 'one' });
      assert.deepEqual(await textsOf('f/a'), ['two', 'one']);
    });

    it('restores a version of a deleted file, and only then with If-None-Match: *', async () => {
      await writeAll('f/a', ['one', 'two']);
      const version = await newest('f/a');
      const isNew = { 'if-none-match': '*' };
      assertFailure(await postJson(port, '/-/versions/f/a', { version }, isNew), 412, /already exists/);
      assert.equal((await send(port, '/delete_folder/f', { method: 'DELETE' })).status, 200);
      assertSuccess(await postJson(port, '/-/versions/f/a', { version }, isNew), { ...RESTORED, path: 'f/a' });
      assert.deepEqual(await treeOf(port), { 'f/': null, 'f/a': 'one' });
    });

    it('restores nothing where a folder has the name', async () => {
      await writeAll('a', ['one', 'two']);
      const version = await newest('a');
      assert.equal((await send(port, '/delete/a', { method: 'DELETE' })).status, 200);
      await plant(port, { 'a/b': '1' });
      assertFailure(await postJson(port, '/-/versions/a', { version }), 409, /"a"/);
      assert.deepEqual(await treeOf(port), { 'a/': null, 'a/b': '1' });
    });

    it('draws the thumbnail and the preview of a version', async () => {
      const picture = (background: string) =>
        sharp({ create: { width: 2, height: 2, channels: 3, background } })
          .png()
          .toBuffer();
      await upload(port, 'a.png', await picture('red'));
      await upload(port, 'a.png', await picture('blue'));
      const averageOf = async (url: string) => {
        const { status, headers, body } = await send(port, url);
        assert.equal(status, 200, body.toString());
        const { channels } = await sharp(body).stats();
        return { etag: headers.etag, isRed: (channels[0]?.mean ?? 0) > (channels[2]?.mean ?? 0) };
      };
      const version = await newest('a.png');
      for (const url of ['/thumb/a.png?', '/-/preview/a.png?width=320&']) {
        const old = await averageOf(`${url}version=${version}`);
        const current = await averageOf(url);
        assert.deepEqual([old.isRed, current.isRed], [true, false]);
        assert.notEqual(old.etag, current.etag);
      }
    });
  });
}
