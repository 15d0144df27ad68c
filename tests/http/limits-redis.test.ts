import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { connectRedis, type RedisConnection } from '../../src/server/redis.ts';
import { findFreePort } from '../../testing/servers/free-port.ts';
import { startRedis, type TestRedis } from '../../testing/servers/redis.ts';
import { until } from '../../testing/until.ts';
import { disk } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { assertFailure, send, within } from './client.ts';
import { startService } from './service.ts';

export const needs: readonly Need[] = ['redis'];

const PASSWORD = 'the-password-of-redis';

describe('Requests of one client', () => {
  it('are counted by all services that share a Redis', async (t) => {
    const redis = await start(t);
    const first = await serve(t, redis, 2);
    const second = await serve(t, redis, 2);
    assert.deepEqual([await first.request(), await second.request()], [200, 200]);
    for (const { port } of [first, second]) {
      const response = await send(port, '/');
      assertFailure(response, 429, /^This address has sent more than 2 requests in a minute\. Try again in \d+ sec/);
      assert.match(String(response.headers['retry-after']), /^(?:[1-9]|[1-5]\d|60)$/);
    }
  });

  it('are accepted while Redis is unreachable, with one log line, and counted when it is reachable again', async (t) => {
    const redis = await start(t);
    const { request, log } = await serve(t, redis, 1);
    assert.deepEqual([await request(), await request()], [200, 429]);
    await redis.stop();
    await until('the loss is noticed', () => log.length === 2);
    for (let count = 0; count < 5; count++) assert.equal(await request(), 200);
    assert.deepEqual(
      log.map(({ level, message }) => [level, message]),
      [
        ['info', 'Redis connected'],
        [
          'warn',
          'Redis unreachable; rate limits suspended, sign-in attempts counted per machine, sessions unavailable',
        ],
      ],
    );

    const again = await startRedis({ port: redis.port });
    t.after(() => again.stop());
    await until('requests are counted', async () => (await request()) === 429);
    assert.deepEqual(
      log.slice(2).map(({ message }) => message),
      ['Redis connected'],
    );
    assert.ok(!JSON.stringify(log).includes(PASSWORD));
  });

  it('are accepted while Redis does not respond to commands', async (t) => {
    const redis = await start(t);
    const { request, log, connection } = await serve(t, redis, 1);
    assert.deepEqual([await request(), await request()], [200, 429]);
    await connection.redis.call('CLIENT', 'PAUSE', '3600000');
    for (let count = 0; count < 20; count++) assert.equal(await within('a response', request()), 200);
    await until('the loss is noticed', async () => (await request()) === 200 && log.at(-1)?.level === 'warn');
  });

  it('are accepted while Redis rejects commands, with one log line', async (t) => {
    const redis = await start(t);
    const { request, log, connection } = await serve(t, redis, 1);
    assert.deepEqual([await request(), await request()], [200, 429]);
    await connection.redis.call('CONFIG', 'SET', 'maxmemory', '1');
    for (let count = 0; count < 5; count++) assert.equal(await request(), 200);
    assert.deepEqual(
      log.slice(1).map(({ level, message }) => [level, message]),
      [['warn', 'Redis commands failed; rate limits can be suspended, sign-in attempts can be counted per machine']],
    );
    assert.match(JSON.stringify(log.at(-1)?.details), /"reason":"OOM command not allowed/);
  });

  it('are accepted if Redis was never reachable', async (t) => {
    const { request, log } = await serve(t, { port: await findFreePort() }, 1, { isThere: false });
    for (let count = 0; count < 3; count++) assert.equal(await request(), 200);
    await until('the failure is logged', () => log.length > 0);
    assert.match(JSON.stringify(log), /ECONNREFUSED/);
    assert.ok(!JSON.stringify(log).includes(PASSWORD));
  });
});

interface Line {
  readonly level: 'info' | 'warn';
  readonly message: string;
  readonly details: unknown;
}

async function start(t: TestContext): Promise<TestRedis> {
  const redis = await startRedis();
  t.after(() => redis.stop());
  return redis;
}

/** Starts a service with this rate limit per minute, counted in Redis. */
async function serve(
  t: TestContext,
  { port }: Pick<TestRedis, 'port'>,
  requestsPerMinute: number,
  { isThere = true } = {},
) {
  const log: Line[] = [];
  const note = (level: Line['level']) => (details: unknown, message?: string) =>
    void log.push(
      typeof details === 'string'
        ? { level, message: details, details: {} }
        : { level, message: message ?? '', details },
    );
  const logger = { info: note('info'), warn: note('warn') };
  const connection: RedisConnection = connectRedis(`redis://default:${PASSWORD}@127.0.0.1:${port}/0`, logger);
  t.after(() => connection.close());
  if (isThere) await until('Redis is reached', () => log.length > 0);
  const service = await startService(disk, { limits: { requestsPerMinute, redis: connection.redis } });
  t.after(() => service.stop());
  return { port: service.port, log, connection, request: async () => (await send(service.port, '/')).status };
}
