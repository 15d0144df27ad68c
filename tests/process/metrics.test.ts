import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { atEnd, isRunning, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { memory } from '../contract/backend.ts';
import { send, upload } from '../http/client.ts';
import { startService } from '../http/service.ts';
import { plain, RED } from '../thumbnails/images.ts';
import { untilAllServe } from './serving.ts';

const TOKEN = 'a-token-of-32-characters-or-more';

/** A service, and the number of its processes that must respond. */
interface Target {
  readonly port: number;
  readonly workers: number;
}

/** Returns the sum of all series with this name, over all processes, whose labels contain the given ones. */
async function read(target: Target, name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
  let sum = 0;
  for (const line of (await metricsOf(target)).split('\n')) {
    const [, found, given = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    const has = Object.entries(labels).every(([label, wanted]) => given.includes(`${label}="${wanted}"`));
    if (found === `holdall_${name}` && has) sum += Number(value);
  }
  return sum;
}

/** Returns the metrics of all processes. Those of a process that a busy machine delays are missing at first. */
function metricsOf({ port, workers }: Target): Promise<string> {
  return until('all processes respond', async () => {
    const { status, body } = await send(port, '/-/metrics', { headers: { authorization: `Bearer ${TOKEN}` } });
    assert.equal(status, 200);
    const text = body.toString();
    return text.match(/^process_open_fds\{/gm)?.length === workers && text;
  });
}

describe('Metrics', () => {
  it('require the token, count thumbnails by source, and have the space of each volume', async (t) => {
    const folder = await temporaryFolder(t);
    const settings = { METRICS_TOKEN: TOKEN, AUDIT_LOG: join(folder, 'audit.log'), MIN_FREE_SPACE: '3GB' };
    const { port } = await startInProcess(t, { settings });
    const target = { port, workers: 1 };
    for (const authorization of ['', 'Bearer', `Bearer ${TOKEN}x`, `Basic ${TOKEN}`, 'Bearer \u00e9']) {
      const { status, headers, body } = await send(port, '/-/metrics', { headers: { authorization } });
      assert.equal(status, 401, authorization);
      assert.match(headers['www-authenticate'] ?? '', /^Bearer /);
      assert.doesNotMatch(body.toString(), new RegExp(TOKEN));
    }
    const { status, headers, body } = await send(port, '/-/metrics', {
      headers: { authorization: `bearer ${TOKEN}`, host: 'whatever.example.org' },
    });
    assert.deepEqual([status, headers['cache-control']], [200, 'no-store']);
    assert.match(headers['content-type'] ?? '', /^text\/plain; version=0\.0\.4/);
    for (const name of ['process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds', 'process_open_fds']) {
      assert.match(body.toString(), new RegExp(`^${name}\\{worker="\\d+"\\} \\d`, 'm'));
    }

    await upload(port, 'a.jpg', await plain(RED).jpeg().toBuffer());
    await upload(port, 'b.jpg', 'no image');
    for (const path of ['a.jpg', 'a.jpg', 'b.jpg']) await send(port, `/thumb/${path}`);
    for (const from of ['render', 'memory', 'failed']) {
      assert.equal(await read(target, 'thumbnails_total', { from }), 1, from);
    }
    assert.equal(await read(target, 'thumbnails_waiting'), 0);
    for (const volume of ['files', 'state', 'cache', 'temporary', 'logs']) {
      assert.ok((await read(target, 'free_bytes', { volume })) > 0, volume);
      assert.equal(await read(target, 'min_free_bytes', { volume }), 3e9, volume);
    }
  });

  it('return 404 when no token is configured', async (t) => {
    const { port, stop } = await startService(memory);
    atEnd(t, stop);
    assert.equal((await send(port, '/-/metrics', { headers: { authorization: 'Bearer ' } })).status, 404);
  });

  it('count requests, bytes and store calls of all processes except an unresponsive one, and workers that died', async (t) => {
    const holdall = await startHoldall(t, { settings: { METRICS_TOKEN: TOKEN, WORKERS: '2' } });
    const { port } = holdall;
    const both = { port, workers: 2 };
    const one = { port, workers: 1 };
    await untilAllServe(holdall);
    const bytes = Buffer.alloc(100_000, 'x');
    await upload(port, 'a file', bytes);
    for (let times = 0; times < 10; times++) await send(port, '/file/a%20file');
    for (let times = 0; times < 3; times++) await send(port, '/file/missing');
    const fetched = { route: '/file/*' };
    await until('all requests are counted', async () => (await read(both, 'http_requests_total', fetched)) === 13);
    assert.equal(await read(both, 'http_requests_total', { ...fetched, method: 'GET', status: '200' }), 10);
    assert.equal(await read(both, 'http_requests_total', { ...fetched, status: '404' }), 3);
    assert.equal(await read(both, 'http_request_duration_seconds_count', fetched), 13);
    const sent = await read(both, 'http_sent_bytes_total', fetched);
    assert.ok(sent > 1_000_000 && sent < 1_020_000, `${sent} bytes`);
    const received = await read(both, 'http_received_bytes_total', { route: '/upload' });
    assert.ok(received > 100_000 && received < 101_000, `${received} bytes`);
    assert.equal(await read(both, 'store_calls_total', { operation: 'write', outcome: 'ok' }), 1);
    assert.ok((await read(both, 'store_calls_total', { outcome: 'not-found' })) >= 3);
    // The request for the metrics.
    assert.equal(await read(both, 'http_requests_in_flight'), 1);
    assert.equal(await read(both, 'store_unreachable'), 0);

    const [stuck = 0] = holdall.serving();
    process.kill(stuck, 'SIGSTOP');
    atEnd(t, () => isRunning(stuck) && process.kill(stuck, 'SIGCONT'));
    // One of two connections is accepted by the blocked process.
    assert.match(await Promise.any([1, 2, 3].map(() => metricsOf(one))), /^holdall_http_requests_in_flight\{/m);
    process.kill(stuck, 'SIGCONT');

    assert.equal(await read(both, 'worker_deaths_total'), 0);
    process.kill(stuck, 'SIGKILL');
    // Until then, the primary process can pass connections to it.
    await until('its death is noticed', () => holdall.log.some(({ worker }) => worker === stuck));
    await untilAllServe(holdall);
    assert.equal(await read(both, 'worker_deaths_total'), 1);
  });

  it('include the requesting worker before it is ready, and are its own alone if the primary does not respond in time', async () => {
    const program = join(import.meta.dirname, 'metrics-cluster.ts');
    const { stdout } = await promisify(execFile)(process.execPath, [program]);
    const { alone, served } = JSON.parse(stdout) as Record<'alone' | 'served', object[][]>;
    assert.deepEqual(alone, [[{ name: 'one' }]]);
    const [worker, primary, ...others] = served;
    assert.deepEqual([worker, others], [[{ name: 'one' }], []]);
    assert.partialDeepStrictEqual(primary, [{ name: 'holdall_worker_deaths_total', values: [{ value: 2 }] }]);
  });
});
