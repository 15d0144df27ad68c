import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import { until } from '../../../testing/until.ts';
import { memory } from '../../contract/backend.ts';
import { assertFailure, beginUpload, escapePath, jsonOf, listed, plant, send, treeOf } from '../client.ts';
import { served } from '../service.ts';

const MAX_UPLOAD_SIZE = 3_000_000;

type Headers = Readonly<Record<string, string>>;

/** A body with its length, and one in chunks without it. */
const FRAMINGS: readonly Headers[] = [{}, { 'transfer-encoding': 'chunked' }];

/** `PUT /file/…` and `DELETE /file/…`. */
export function putSuite(): void {
  describe('PUT', () => {
    const service = served(memory, { maxUploadSize: MAX_UPLOAD_SIZE });

    const put = (path: string, body: Buffer | string, headers: Headers = {}) =>
      send(service.port, `/file/${escapePath(path)}`, { method: 'PUT', body, headers });
    const get = (path: string) => send(service.port, `/file/${escapePath(path)}`);
    /** Returns the tree of a folder. Each test has a folder of its own. */
    const tree = (folder: string) => treeOf(service.port, folder);

    it('stores the bytes of the body, of a known or unknown length', async () => {
      for (const [name, body] of [
        ['large', randomBytes(1_000_000)],
        ['one', Buffer.of(0)],
        ['empty', Buffer.alloc(0)],
      ] as const) {
        for (const headers of FRAMINGS) {
          const path = `bytes/ü #%25?/${name} ${Object.keys(headers).length}`;
          const response = await put(path, body, headers);
          assert.ok([200, 201].includes(response.status), response.body.toString());
          const { success, message, path: stored } = jsonOf(response);
          assert.deepEqual([success, message, stored], [true, 'File uploaded successfully', path]);
          const location = String(response.headers.location);
          assert.ok(location.endsWith(`/file/${escapePath(path)}`), location);
          const fetched = await get(path);
          assert.ok(fetched.body.equals(body));
          assert.equal(fetched.headers.etag, response.headers.etag);
          assert.equal((await listed(service.port, path)).size, body.length);
        }
      }
    });

    it('takes the media type and the modification time from the headers', async () => {
      const time = 1_405_659_692;
      const response = await put('headers/a', 'a', { 'content-type': 'text/x-notes', 'x-oc-mtime': String(time) });
      assert.equal(response.headers['x-oc-mtime'], 'accepted');
      const { headers } = await get('headers/a');
      assert.equal(headers['last-modified'], new Date(time * 1000).toUTCString());
      assert.match(String(headers['content-type']), /^text\/x-notes/);
    });

    it('responds 201 for a new file, and 200 for one that replaced another', async () => {
      assert.equal((await put('status/a', 'first', { 'if-none-match': '*' })).status, 201);
      assert.equal((await put('status/a', 'second')).status, 200);
      assertFailure(await put('status/a', 'third', { 'if-none-match': '*' }), 412, /status\/a/);
      assert.deepEqual(await tree('status/'), { 'status/a': 'second' });
    });

    it('replaces only the matching version', async () => {
      const etag = String((await put('match/a', 'first')).headers.etag);
      assert.equal((await put('match/a', 'second', { 'if-match': etag })).status, 200);
      assertFailure(await put('match/a', 'third', { 'if-match': etag }), 412, /match\/a/);
      assert.deepEqual(await tree('match/'), { 'match/a': 'second' });
    });

    it('evaluates lists, weak ETags and any ETag', async () => {
      let etag = String((await put('lists/a', 'first', { 'if-none-match': '"x", W/"y"' })).headers.etag);
      for (const condition of [
        (present: string): Headers => ({ 'if-match': `"x", ${present}` }),
        (): Headers => ({ 'if-match': '*' }),
        (): Headers => ({ 'if-none-match': 'JoplinIgnore-12345' }),
        (): Headers => ({ 'if-none-match': '"x", "y"' }),
      ]) {
        const headers = condition(etag);
        const response = await put('lists/a', JSON.stringify(headers), headers);
        assert.equal(response.status, 200, response.body.toString());
        etag = String(response.headers.etag);
      }
      const kept = await tree('lists/');
      const failing: readonly Headers[] = [
        { 'if-match': '"x", "y"' },
        { 'if-match': `W/${etag}` },
        { 'if-none-match': `"x", W/${etag}` },
        { 'if-none-match': etag },
        { 'if-match': etag, 'if-none-match': '*' },
      ];
      for (const headers of failing) {
        assertFailure(await put('lists/a', 'refused', headers), 412, /lists\/a/);
      }
      assert.deepEqual(await tree('lists/'), kept);
      assertFailure(await put('lists/none', 'refused', { 'if-match': '*' }), 412, /does not exist/);
    });

    it('stores nothing if the content has another digest', async () => {
      const digestOf = (name: string, text: string) => createHash(name).update(text).digest('base64');
      const right = `sha-256=:${digestOf('sha256', 'content')}:`;
      const wrong = `sha-512=:${digestOf('sha512', 'Content')}:`;
      await put('digest/kept', 'old', { 'if-none-match': '*' });
      const mismatches: readonly Headers[] = [
        { 'repr-digest': `sha-256=:${digestOf('sha256', 'Content')}:` },
        { 'content-digest': `${right}, ${wrong}` },
        { 'content-digest': right, 'repr-digest': wrong },
      ];
      for (const headers of mismatches) {
        for (const path of ['digest/kept', 'digest/new']) {
          const response = await put(path, 'content', headers);
          assertFailure(response, 400, /The sha-\d+ of the content is/);
          assert.equal(jsonOf(response)['code'], 'digest-mismatch');
        }
      }
      for (const value of [
        '',
        'sha-256',
        'sha-256=:AAAA:',
        `sha-256=${digestOf('sha256', 'content')}`,
        'sha-256=:*:',
      ]) {
        assertFailure(await put('digest/new', 'content', { 'repr-digest': value }), 400, /Repr-Digest/);
      }
      assert.deepEqual(await tree('digest/'), { 'digest/kept': 'old' });
      const accepted = await put('digest/new', 'content', {
        'repr-digest': `md5=:AAAA:, constructor=:AAAA:, ${right}`,
        'content-digest': right,
      });
      assert.equal(accepted.status, 201);
      assert.equal((await get('digest/new')).body.toString(), 'content');
    });

    it('refuses parts of files, encoded bodies, folders and files that are too large', async () => {
      assertFailure(await put('refused/a', 'a', { 'content-range': 'bytes 0-0/2' }), 400, /Content-Range/);
      assertFailure(await put('refused/a', 'a', { 'content-encoding': 'gzip' }), 415, /Content-Encoding/);
      assertFailure(await put('refused/', 'a'), 400, /refused\//);
      assertFailure(await put('refused/../a', 'a'), 400, /\.\./);
      for (const headers of FRAMINGS) {
        assertFailure(await put('refused/a', Buffer.alloc(MAX_UPLOAD_SIZE + 1), headers), 413, /3000000/);
      }
      assertFailure(await send(service.port, '/refused/'), 404, /refused/);
    });

    it('keeps the old file if the body is interrupted', async () => {
      await put('interrupted/kept', 'old', { 'if-none-match': '*' });
      const ended = () => service.log.filter(({ msg }) => msg === 'request').length;
      for (const path of ['interrupted/kept', 'interrupted/new']) {
        const endedBefore = ended();
        const target = { method: 'PUT', path: `/file/${path}` };
        const sending = beginUpload(service.port, { 'content-length': '10' }, target);
        await sending.write(Buffer.from('half'));
        sending.disconnect();
        await until('the log has the request', () => ended() > endedBefore);
      }
      assert.deepEqual(await tree('interrupted/'), { 'interrupted/kept': 'old' });
    });

    it('deletes a file, only if it has the ETag of If-Match', async () => {
      await plant(service.port, { 'delete/a': 'a', 'delete/b': 'b' });
      const remove = (path: string, headers: Headers = {}) =>
        send(service.port, `/file/${path}`, { method: 'DELETE', headers });
      const { etag } = await listed(service.port, 'delete/a');
      assertFailure(await remove('delete/b', { 'if-match': etag }), 412, /delete\/b/);
      assertFailure(await remove('delete/b', { 'if-none-match': '*' }), 412, /If-None-Match/);
      assertFailure(await remove('delete/none', { 'if-none-match': '*' }), 404, /delete\/none/);
      assertFailure(await remove('delete/b', { 'if-match': `"x", W/${etag}` }), 412, /If-Match/);
      assert.deepEqual(await tree('delete/'), { 'delete/a': 'a', 'delete/b': 'b' });
      const conditions = { 'if-match': `"x", ${etag}`, 'if-none-match': 'JoplinIgnore-1, "y"' };
      assert.equal((await remove('delete/a', conditions)).status, 200);
      assert.deepEqual(await tree('delete/'), { 'delete/b': 'b' });
      assertFailure(await remove('delete/a'), 404, /delete\/a/);
    });
  });
}
