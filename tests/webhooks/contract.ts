import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { DatabaseLocation } from '../../src/database/open.ts';
import type { Change } from '../../src/model/change.ts';
import { isStoreError } from '../../src/model/error.ts';
import { parseFile, parseFolder, ROOT } from '../../src/model/path.ts';
import { createOwner } from '../../src/webhooks/owner.ts';
import type { WebhookSettings } from '../../src/webhooks/webhook.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { forEachConcurrently } from '../../testing/for-each-concurrently.ts';
import { atEnd } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { type DeliveringOptions, type OpenedTables, openTables, policyOfAnn, startDelivering } from './delivering.ts';
import { type Receiver, startReceiver } from './receiver.ts';

const created = (path: string): Change => ({
  type: 'file.created',
  path: parseFile(path),
  size: 1,
  etag: 'e',
  user: 'ann',
});
const ANN = { name: 'ann', groups: [] };

/**
 * The tests that webhooks pass on every database engine. `create` returns the location of an empty database for a test.
 * `kills`: whether processes are also killed. With PostgreSQL, only `tests/long` does that.
 */
export function testWebhooks(
  engineName: string,
  create: (t: TestContext) => Promise<DatabaseLocation>,
  { kills = true }: { readonly kills?: boolean } = {},
): void {
  describe(`Webhooks on ${engineName}`, { concurrency: CONCURRENT_TESTS }, () => {
    const open = async (t: TestContext, location: DatabaseLocation) => {
      const tables = await openTables(location);
      atEnd(t, () => tables.database.close());
      return tables;
    };
    const receive = async (t: TestContext) => {
      const receiver = await startReceiver();
      atEnd(t, () => receiver.stop());
      return receiver;
    };
    const deliver = (t: TestContext, tables: OpenedTables, options?: DeliveringOptions) => {
      const end = startDelivering(tables, options);
      atEnd(t, end);
      return end;
    };
    const add = async (
      { webhooks }: OpenedTables,
      { url }: Pick<Receiver, 'url'>,
      { folder = ROOT, types }: Partial<WebhookSettings> = {},
    ) => (await webhooks.create({ url, folder, types, description: undefined }, undefined)).webhook;
    const untilReceived = (receiver: Receiver, count: number) =>
      until(`${count} messages have arrived`, () => receiver.received.length >= count);
    const deliveriesOf = async ({ deliveries }: OpenedTables, { id }: { id: string }) =>
      (await deliveries.list(id, { limit: 1000, cursor: undefined })).deliveries;
    const untilStatus = (tables: OpenedTables, webhook: { id: string }, status: string) =>
      until(`all deliveries are ${status}`, async () => {
        const found = await deliveriesOf(tables, webhook);
        return found.length > 0 && found.every((each) => each.status === status) ? found : undefined;
      });

    it('deliver each change once, although several processes deliver', async (t) => {
      const location = await create(t);
      const tables = await open(t, location);
      const receiver = await receive(t);
      const { webhook, secret } = await tables.webhooks.create(
        { url: receiver.url, folder: ROOT, types: undefined, description: undefined },
        undefined,
      );
      deliver(t, tables);
      for (let count = 0; count < 2; count++) deliver(t, await open(t, location));
      const paths = Array.from({ length: 30 }, (_, index) => `${index}.txt`);
      for (const path of paths) await tables.changeLog.append([created(path)]);
      await untilReceived(receiver, paths.length);
      const found = await untilStatus(tables, webhook, 'delivered');
      assert.deepEqual(new Set(receiver.paths()), new Set(paths));
      assert.equal(receiver.received.length, paths.length);
      assert.deepEqual(new Set(receiver.received.map(({ id }) => id)), new Set(found.map(({ id }) => id)));
      const [first = assert.fail()] = receiver.received;
      receiver.verify(first, secret);
      const { id, time, ...data } = first.message.data;
      assert.deepEqual(data, { type: 'file.created', path: data['path'], size: 1, etag: '"e"', user: 'ann' });
      assert.deepEqual([first.message.type, first.message.timestamp, typeof id], ['file.created', time, 'string']);
      assert.partialDeepStrictEqual(found[0], { attempts: 1, lastAttempt: { response: { status: 204, excerpt: '' } } });
    });

    it('deliver only changes of their folder and types', async (t) => {
      const tables = await open(t, await create(t));
      const receiver = await receive(t);
      await add(tables, receiver, { folder: parseFolder('photos'), types: ['file.deleted', 'file.moved'] });
      deliver(t, tables);
      await tables.changeLog.append([
        created('photos/new'),
        { type: 'file.deleted', path: parseFile('notes/a') },
        { type: 'file.deleted', path: parseFile('photos/a') },
        { type: 'file.deleted', path: parseFile('photos2/a') },
        { type: 'file.moved', path: parseFile('archive/b'), from: parseFile('photos/b') },
      ]);
      await untilReceived(receiver, 2);
      assert.deepEqual(new Set(receiver.paths()), new Set(['photos/a', 'archive/b']));
    });

    it('deliver what happened while no process was running, and a resync if the log no longer has it', async (t) => {
      const tables = await open(t, await create(t));
      const receiver = await receive(t);
      const webhook = await add(tables, receiver);
      await tables.changeLog.append([created('a')]);
      const end = deliver(t, tables);
      await untilStatus(tables, webhook, 'delivered');
      await end();
      await tables.changeLog.append([created('b'), created('c')]);
      await tables.changeLog.expire({ ageMs: 60_000, maxChanges: 0 });
      await tables.changeLog.append([created('d')]);
      deliver(t, tables);
      await untilReceived(receiver, 2);
      assert.deepEqual(
        receiver.received.map(({ message }) => [message.type, message.data['path']]),
        [
          ['file.created', 'a'],
          ['resync', ''],
        ],
      );
    });

    it('retry a failed request with the same ID and body, and a new signature', async (t) => {
      const tables = await open(t, await create(t));
      const receiver = await receive(t);
      receiver.respond = ({ response }) =>
        void response.writeHead(receiver.received.length === 1 ? 500 : 200).end('no');
      const webhook = await add(tables, receiver);
      deliver(t, tables);
      await tables.changeLog.append([created('a')]);
      const [delivery] = await untilStatus(tables, webhook, 'delivered');
      assert.equal(delivery?.attempts, 2);
      const [first = assert.fail(), second = assert.fail()] = receiver.received;
      assert.deepEqual([second.id, second.body], [first.id, first.body]);
    });

    it('fail a delivery after its last attempt, and can then repeat it', async (t) => {
      const tables = await open(t, await create(t));
      const receiver = await receive(t);
      receiver.respond = ({ response }) => void response.writeHead(503).end('down for maintenance');
      const webhook = await add(tables, receiver);
      deliver(t, tables);
      await tables.changeLog.append([created('a')]);
      const [failed = assert.fail()] = await untilStatus(tables, webhook, 'failed');
      const lastAttempt = {
        error: 'The endpoint responded with 503.',
        response: { status: 503, excerpt: 'down for maintenance' },
      };
      assert.partialDeepStrictEqual(failed, { attempts: 2, nextAttemptAt: undefined, lastAttempt });
      receiver.respond = ({ response }) => void response.writeHead(200).end();
      const repeated = await tables.deliveries.repeat(webhook.id, failed.id);
      assert.deepEqual([repeated.status, repeated.attempts], ['pending', 0]);
      await untilStatus(tables, webhook, 'delivered');
      assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 1);
      await assert.rejects(
        tables.deliveries.repeat(webhook.id, 'msg_0'),
        (error) => isStoreError(error, 'not-found') && error.message.includes('msg_0'),
      );
    });

    it('are disabled by 410, with their pending deliveries', async (t) => {
      const tables = await open(t, await create(t));
      const receiver = await receive(t);
      receiver.respond = ({ response }) => void response.writeHead(410).end();
      const webhook = await add(tables, receiver);
      await tables.changeLog.append(Array.from({ length: 60 }, (_, index) => created(`${index}`)));
      deliver(t, tables);
      await untilStatus(tables, webhook, 'failed');
      const { isEnabled, disabledReason } = await tables.webhooks.get(webhook.id);
      assert.deepEqual([isEnabled, disabledReason], [false, 'gone']);
      assert.ok(receiver.received.length < 10);
      // Future changes only.
      await tables.changeLog.append([created('while disabled')]);
      receiver.received.length = 0;
      receiver.respond = ({ response }) => void response.end();
      await tables.webhooks.enable(webhook.id);
      await tables.changeLog.append([created('after')]);
      await untilReceived(receiver, 1);
      assert.deepEqual(receiver.paths(), ['after']);
    });

    it('are not delayed by the slow endpoint of another one, which gets few requests at a time', async (t) => {
      const tables = await open(t, await create(t));
      const [slow, fast] = [await receive(t), await receive(t)];
      slow.respond = () => {};
      await add(tables, slow);
      await add(tables, fast);
      deliver(t, tables);
      await tables.changeLog.append(Array.from({ length: 20 }, (_, index) => created(`${index}`)));
      await untilReceived(fast, 20);
      assert.ok(slow.received.length <= 4);
      for (const { response } of slow.received) response.end();
      slow.respond = ({ response }) => void response.end();
      await untilReceived(slow, 20);
    });

    if (kills)
      it('deliver again what a killed process was sending', async (t) => {
        const location = await create(t);
        const tables = await open(t, location);
        const receiver = await receive(t);
        const webhook = await add(tables, receiver);
        receiver.respond = () => {};
        const child = spawn(process.execPath, [DELIVERING_PROCESS, JSON.stringify(location)], {
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        atEnd(t, async () => void child.kill('SIGKILL'));
        await once(child.stdout, 'data');
        await tables.changeLog.append([created('a'), created('b')]);
        await untilReceived(receiver, 2);
        const ended = once(child, 'exit');
        child.kill('SIGKILL');
        await ended;
        await tables.database.run((db) => db.updateTable('jobs').set({ lease_expires_at: 0 }).execute());
        receiver.respond = ({ response }) => void response.end();
        deliver(t, tables);
        await untilStatus(tables, webhook, 'delivered');
        const ids = receiver.received.map(({ id }) => id);
        assert.deepEqual([ids.length, new Set(ids).size], [4, 2]);
      });

    it('deliver what their owner can read, until the owner no longer manages the root', async (t) => {
      const tables = await open(t, await create(t));
      const receiver = await receive(t);
      let policy = policyOfAnn({ hasAnn: true });
      const settings = { url: receiver.url, folder: ROOT, types: undefined, description: undefined };
      const { webhook } = await tables.webhooks.create(settings, createOwner(ANN, policy));
      deliver(t, tables, { policy: () => policy });
      await tables.changeLog.append([
        created('closed/a'),
        created('open/a'),
        { type: 'file.moved', path: parseFile('closed/b'), from: parseFile('open/b') },
      ]);
      await untilReceived(receiver, 2);
      assert.deepEqual(
        new Set(receiver.received.map(({ message }) => `${message.type} ${String(message.data['path'])}`)),
        new Set(['file.created open/a', 'file.deleted open/b']),
      );
      policy = policyOfAnn({ hasAnn: false });
      await until('the webhook is disabled', async () => !(await tables.webhooks.get(webhook.id)).isEnabled);
      assert.equal((await tables.webhooks.get(webhook.id)).disabledReason, 'permission');
      await tables.changeLog.append([created('open/c')]);
      assert.equal(receiver.received.length, 2);
    });

    it('are at most 100, and not found after their removal', async (t) => {
      const tables = await open(t, await create(t));
      const url = 'https://hooks.example.org/';
      // With all at once, the last ones would wait for a connection until the timeout.
      await forEachConcurrently(Array.from({ length: 100 }), 8, async () => void (await add(tables, { url })));
      await assert.rejects(add(tables, { url }), /^StoreError: There are already 100 webhooks/);
      const [{ id } = assert.fail()] = await tables.webhooks.list();
      await tables.webhooks.remove(id);
      for (const call of [
        () => tables.webhooks.get(id),
        () => tables.webhooks.remove(id),
        () => tables.webhooks.enable(id),
        () => tables.webhooks.rotateSecret(id),
      ]) {
        await assert.rejects(call(), (error) => isStoreError(error, 'not-found') && error.message.includes(id));
      }
      assert.equal((await tables.webhooks.list()).length, 99);
    });

    it('sign with the previous secret too, after a rotation', async (t) => {
      const tables = await open(t, await create(t));
      const { id, secrets } = await add(tables, { url: 'https://hooks.example.org/' });
      const secret = await tables.webhooks.rotateSecret(id);
      assert.deepEqual((await tables.webhooks.get(id)).secrets, [secret, ...secrets]);
      const next = await tables.webhooks.rotateSecret(id);
      assert.deepEqual((await tables.webhooks.get(id)).secrets, [next, secret]);
    });

    it('keep the last thousand deliveries, and list them in pages with the newest first', async (t) => {
      const tables = await open(t, await create(t));
      const { id } = await add(tables, { url: 'https://hooks.example.org/' });
      const [{ position } = assert.fail()] = await tables.webhooks.listEnabled();
      const messages = Array.from({ length: 1010 }, (_, index) => ({ type: 'file.created', body: `{"n":${index}}` }));
      assert.ok(await tables.deliveries.add(id, { from: position, to: { sequence: 1, time: 1 }, messages }));
      // Another process added them.
      assert.ok(!(await tables.deliveries.add(id, { from: position, to: { sequence: 1, time: 1 }, messages })));
      await tables.deliveries.expire(id);
      assert.equal(await tables.deliveries.countPending(id, 2000), 1010);
      await tables.webhooks.disable(id, 'user');
      await tables.deliveries.expire(id);
      const first = await tables.deliveries.list(id, { limit: 600, cursor: undefined });
      const second = await tables.deliveries.list(id, { limit: 600, cursor: first.cursor });
      const bodies = [...first.deliveries, ...second.deliveries].map(({ body }) => body);
      assert.deepEqual([bodies.length, bodies[0], bodies.at(-1)], [1000, '{"n":1009}', '{"n":10}']);
      assert.equal(second.cursor, undefined);
      await assert.rejects(tables.deliveries.list(id, { limit: 1, cursor: 'x' }), /cursor/);
    });
  });
}

const DELIVERING_PROCESS = fileURLToPath(new URL('./delivering-process.ts', import.meta.url));
