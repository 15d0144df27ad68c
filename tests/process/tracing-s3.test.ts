import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { settingsOf } from '../../testing/servers/settings.ts';
import { postForm, postJson, send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { partsOf, requestIn, startTraced } from './traced.ts';

export const needs: readonly Need[] = ['bucket'];

describe('Traces of a service with a bucket', () => {
  it('contain the S3 requests under the store calls, with the same S3 request IDs as the log', async (t) => {
    const bucket = await createBucket();
    atEnd(t, () => bucket.remove());
    const traced = await startTraced(t, { settings: { ...settingsOf(bucket), LOG_LEVEL: 'debug' } });
    const { port } = traced.service;
    const named = (id: string) => ({ 'x-request-id': id });
    const file = { name: 'file', filename: 'a file', value: 'x' };
    assert.equal((await postForm(port, [{ name: 'prefix', value: 'f/' }, file], named('upload'))).status, 200);
    assert.equal((await send(port, '/f/', { headers: named('list') })).status, 200);
    assert.equal((await send(port, '/file/missing', { headers: named('missing') })).status, 404);
    assert.equal((await postJson(port, '/rename/f/a%20file', { newName: 'b' }, named('rename'))).status, 200);
    const spans = await traced.stop();
    for (const id of ['upload', 'list', 'missing', 'rename']) {
      const calls = partsOf(spans, requestIn(spans, id));
      const requests = calls.flatMap((call) => partsOf(spans, call));
      assert.ok(requests.length > 0, id);
      for (const { kind, attributes, start, end } of requests) {
        assert.equal(kind, 'client');
        assert.ok(end - start < 20_000_000_000n && start <= end);
        assert.match(String(attributes['url.full']), /^http:\/\/127\.0\.0\.1:\d+\/test-[\w-]+(\/[^?]*)?$/);
      }
      // Each response has a log line with the ID of the request and that of the store.
      const lines = traced.service.log.filter(({ msg, requestId }) => msg === 'backend' && requestId === id);
      const inLog = lines.map(({ backendId, status, url }) => [backendId, status, url].join(' '));
      const inTrace = requests.map(({ attributes }) =>
        ['holdall.store.request_id', 'http.response.status_code', 'url.full'].map((name) => attributes[name]).join(' '),
      );
      assert.deepEqual(inLog.toSorted(), inTrace.toSorted());
      for (const { backendId } of lines) assert.match(String(backendId), /^[\w-]{8,}$/);
    }
    const { requests } = traced.collector;
    const sent = requests.map(({ body }) => body.toString('latin1')).join('\n') + traced.service.printed();
    assert.doesNotMatch(sent, new RegExp(`Signature|Credential|${bucket.settings.credentials.secretAccessKey}`));
  });
});
