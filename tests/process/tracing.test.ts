import assert from 'node:assert/strict';
import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { hostRepository } from '../../testing/servers/hosted-repository.ts';
import { settingsOfRepository } from '../../testing/servers/settings.ts';
import { postJson, send, upload } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { partsOf, requestIn, startTraced } from './traced.ts';
import { signedPath } from './transfers.ts';

export const needs: readonly Need[] = ['git'];

type Settings = Readonly<Record<string, string>>;

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

/** The number of simultaneous requests of each kind. */
const COUNT = 4;

describe('Traces', () => {
  it('contain a request and its store calls with attributes, and no secrets', async (t) => {
    const traced = await startTraced(t, {
      settings: {
        OTEL_SERVICE_NAME: 'files',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%20test,service.name=not this one',
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20for-the-collector',
        METRICS_TOKEN: 'a-secret-for-metrics',
      },
    });
    const { port, root: served } = traced.service;
    const headers = { 'x-request-id': 'the-listing', host: 'files.localhost:81', 'user-agent': 'a test' };
    assert.equal((await send(port, '/missing/?limit=5', { headers })).status, 404);
    await writeFile(join(served, 'large'), '');
    await truncate(join(served, 'large'), 6 * 1024 * 1024);
    const signed = await signedPath(port, 'large');
    assert.match(signed, /signature=/);
    const secret = { authorization: 'Bearer a-secret-for-metrics', cookie: 'holdall=a-secret-session' };
    for (const path of [signed, '/-/metrics', '/-/sign-in/callback?code=a-secret-code'])
      await send(port, path, { headers: secret });
    await send(port, `http://someone:a-secret-password@127.0.0.1:${port}/file/x?signature=a-secret`);
    const spans = await traced.stop();
    const root = requestIn(spans, 'the-listing');
    const calls = partsOf(spans, root);
    assert.deepEqual(
      { ...root.attributes },
      {
        'http.request.method': 'GET',
        'http.route': '/*',
        'http.response.status_code': 404,
        'url.path': '/missing/',
        'url.scheme': 'http',
        'server.address': 'files.localhost',
        'server.port': 81,
        'user_agent.original': 'a test',
        'holdall.request_id': 'the-listing',
      },
    );
    assert.deepEqual([root.name, root.kind, root.parentSpanId, root.isError], ['GET /*', 'server', undefined, false]);
    assert.equal(root.resource['service.name'], 'files');
    assert.equal(root.resource['deployment.environment.name'], 'a test');
    assert.equal(root.resource['process.pid'], process.pid);
    assert.deepEqual(
      calls.map(({ name, kind, attributes, traceId }) => ({ name, kind, attributes: { ...attributes }, traceId })),
      [
        {
          name: 'store list',
          kind: 'internal',
          attributes: { 'holdall.store.operation': 'list', 'holdall.store.outcome': 'not-found' },
          traceId: root.traceId,
        },
      ],
    );
    // The SDK rounds the start of each span down to a millisecond, and adds the exact duration to it.
    const lastEnd = root.end + 1_000_000n;
    for (const { start, end } of calls) assert.ok(root.start <= start && start <= end && end < lastEnd);
    const [sent] = traced.collector.requests;
    assert.deepEqual([sent?.path, sent?.headers['authorization']], ['/v1/traces', 'Bearer for-the-collector']);

    assert.ok(spans.some(({ name }) => name === 'GET /-/signed/*'));
    const bodies = traced.collector.requests.map(({ body }) => body.toString('latin1')).join('\n');
    assert.doesNotMatch(bodies, /signature|secret|expires|code=/);
    assert.doesNotMatch(traced.service.printed(), /signature=|secret/);
  });

  it('separate concurrent requests of every kind', async (t) => {
    const traced = await startTraced(t);
    const { port } = traced.service;
    await Promise.all([...Array(COUNT).keys()].map((index) => upload(port, `folder ${index}/file`, 'x')));
    const request = async (index: number) => {
      const headers = { 'x-request-id': `rename-${index}` };
      const { status } = await postJson(
        port,
        `/rename/folder ${index}/file`.replace(' ', '%20'),
        { newName: 'other' },
        headers,
      );
      assert.equal(status, 200);
      await send(port, `/folder%20${index}/`, { headers: { 'x-request-id': `list-${index}` } });
      await send(port, `/thumb/folder%20${index}/other`, { headers: { 'x-request-id': `thumb-${index}` } });
    };
    await Promise.all([...Array(COUNT).keys()].map(request));
    const spans = await traced.stop();
    const operations = (requestId: string) => partsOf(spans, requestIn(spans, requestId)).map(({ name }) => name);
    const renamed = operations('rename-0');
    assert.ok(renamed.includes('store move'), renamed.join(', '));
    for (let index = 0; index < COUNT; index++) {
      assert.deepEqual(operations(`rename-${index}`), renamed);
      assert.deepEqual(operations(`list-${index}`), ['store list']);
      assert.ok(operations(`thumb-${index}`).length > 0);
    }
    const uploads = spans.filter(({ name }) => name === 'POST /upload');
    assert.equal(uploads.length, COUNT);
    for (const each of uploads) assert.ok(partsOf(spans, each).some(({ name }) => name === 'store write'));
    // Each has a request.
    const known = new Set(spans.map(({ spanId }) => spanId));
    assert.deepEqual(
      spans.filter(({ kind, parentSpanId = '' }) => kind === 'internal' && !known.has(parentSpanId)),
      [],
    );
  });

  it('continue the trace of the proxy and follow its sampling decision', async (t) => {
    const traced = await startTraced(t, { settings: { OTEL_TRACES_SAMPLER: 'parentbased_always_off' } });
    const request = (id: string, traceparent: string) =>
      send(traced.service.port, '/', { headers: { 'x-request-id': id, traceparent } });
    await request('traced', `00-${TRACE}-${PARENT}-01`);
    await request('left-out', `00-${TRACE}-${PARENT}-00`);
    await request('not-a-trace', `00-${'0'.repeat(32)}-${PARENT}-01`);
    await send(traced.service.port, '/');
    const spans = await traced.stop();
    assert.deepEqual(
      spans.map(({ traceId, name }) => [traceId, name]),
      [
        [TRACE, 'store list'],
        [TRACE, 'GET /'],
      ],
    );
    assert.equal(requestIn(spans, 'traced').parentSpanId, PARENT);
  });

  it('contain the GitHub API requests and their request IDs', async (t) => {
    const hosted = await hostRepository({ files: { 'a.txt': 'text' } });
    atEnd(t, () => hosted.remove());
    const traced = await startTraced(t, { settings: { ...settingsOfRepository(hosted), GITHUB_TRUST: '0' } });
    const { port } = traced.service;
    assert.equal((await send(port, '/file/a.txt', { headers: { 'x-request-id': 'fetch' } })).status, 200);
    const spans = await traced.stop();
    const requests = partsOf(spans, requestIn(spans, 'fetch')).flatMap((call) => partsOf(spans, call));
    assert.ok(requests.length > 0);
    for (const { name, kind, attributes } of requests) {
      assert.deepEqual([name, kind], ['GET', 'client']);
      assert.ok(String(attributes['url.full']).startsWith(`${hosted.options.apiUrl}/repos/`));
      assert.match(String(attributes['holdall.store.request_id']), /^HOLD:/);
    }
    const sent = traced.collector.requests.map(({ body }) => body.toString('latin1')).join('\n');
    assert.ok(!sent.includes(hosted.options.token ?? 'none'));
  });

  it('are not exported when the sampler takes none, and when the export or the library is disabled', async (t) => {
    const silences: readonly Settings[] = [
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
      { OTEL_TRACES_EXPORTER: 'none' },
      { OTEL_SDK_DISABLED: 'true' },
    ];
    for (const settings of silences) {
      const traced = await startTraced(t, { settings });
      await send(traced.service.port, '/', { headers: { traceparent: `00-${TRACE}-${PARENT}-01` } });
      await traced.stop();
      assert.deepEqual(traced.collector.requests, [], JSON.stringify(settings));
    }
  });

  // That a failure is logged once: tests/observability/open-telemetry.test.ts.
  it('affect neither responses nor the stop when the collector fails', async (t) => {
    const { service, stop } = await startTraced(t, { behaviour: 'fails' });
    assert.equal((await send(service.port, '/')).status, 200);
    await stop();
    const line = service.log.find(({ msg }) => String(msg).startsWith('Trace export failed'));
    assert.match(String(line?.['url']), /^http:\/\/127\.0\.0\.1:\d+\/v1\/traces$/);
  });
});
