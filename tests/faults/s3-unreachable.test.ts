import assert from 'node:assert/strict';
import { it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { testObjectStore } from '../../testing/servers/object-store.ts';
import { startS3Proxy } from '../../testing/servers/s3-proxy.ts';
import { settingsOf } from '../../testing/servers/settings.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { assertSuccess, postJson, send, upload } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket'];

const TOKEN = 'a-token-of-32-characters-or-more';
const READY = '/-/health/ready';

it('A bucket survives single lost connections; while it is unreachable, it receives no requests, and each response states the reason', async (t) => {
  const bucket = await createBucket();
  atEnd(t, () => bucket.remove());
  const proxy = await startS3Proxy(testObjectStore());
  atEnd(t, () => proxy.stop());
  const settings = settingsOf({ settings: { ...bucket.settings, endpoint: proxy.url } });
  const { port, log } = await startInProcess(t, { settings: { ...settings, METRICS_TOKEN: TOKEN } });
  await upload(port, 'kept', 'kept');

  for (let times = 0; times < 5; times++) {
    let cuts = 1;
    proxy.intercept(() => (cuts-- > 0 ? 'cut' : undefined));
    assert.equal((await send(port, '/file/kept')).body.toString(), 'kept');
  }
  assert.ok((await metric(port, 'holdall_store_retries_total')) >= 5);
  assert.equal(await storeUnreachable(port), 0);

  proxy.intercept(() => 'cut');
  // Sent together, because each one is retried with back-off before it counts as a failure.
  await Promise.all(Array.from({ length: 5 }, () => send(port, '/file/kept')));
  await until('the bucket counts as unreachable', async () => {
    const { status, body } = await send(port, READY);
    assert.equal(status, 503);
    return /has been unreachable for \d+ seconds\. The object store/.test(errorIn(body));
  });
  assert.equal(await storeUnreachable(port), 1);
  assert.equal(log.filter(({ msg }) => String(msg).startsWith('Store unreachable')).length, 1);

  proxy.forget();
  const responses = await Promise.all([
    ...Array.from({ length: 20 }, () => send(port, '/file/kept')),
    send(port, '/thumb/kept'),
    send(port, '/file/kept', { method: 'HEAD' }),
    send(port, '/delete/kept', { method: 'DELETE' }),
    postJson(port, '/rename/kept', { newName: 'other' }),
    postJson(port, '/copy', { source: 'kept', destination: 'copy', is_folder: false }),
  ]);
  for (const { status, headers } of responses) assert.deepEqual([status, headers['retry-after']], [503, '1']);
  assert.match(errorIn(responses[0]?.body), /^The store has been unreachable for \d+ seconds\. The object store /);
  const checks = ['HeadBucket', 'ListObjectsV2'];
  assert.deepEqual(
    proxy.requests.filter(({ operation }) => !checks.includes(operation)).map(({ operation }) => operation),
    [],
  );

  proxy.intercept(undefined);
  await until('the bucket is reachable again', async () => (await send(port, READY)).status === 200);
  assert.equal(await storeUnreachable(port), 0);
  assert.ok(log.some(({ msg }) => msg === 'Store reachable again; circuit breaker closed'));
  assert.equal((await send(port, '/file/kept')).body.toString(), 'kept');
  assertSuccess(await postJson(port, '/rename/kept', { newName: 'other' }), {
    message: 'File renamed successfully',
    newKey: 'other',
  });
  assert.deepEqual(await bucket.keys(), ['other']);
});

const storeUnreachable = (port: number) => metric(port, 'holdall_store_unreachable');

async function metric(port: number, name: string): Promise<number> {
  const { body } = await send(port, '/-/metrics', { headers: { authorization: `Bearer ${TOKEN}` } });
  return Number(new RegExp(`^${name}\\{[^}]*\\} (\\d+)$`, 'm').exec(body.toString())?.[1]);
}

const errorIn = (body: Buffer = Buffer.from('{}')): string =>
  String((JSON.parse(body.toString()) as { error?: string }).error);
