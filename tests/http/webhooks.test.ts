import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { until } from '../../testing/until.ts';
import { form, type GuardedService, grant, json, startGuardedService } from '../access/guarded-service.ts';
import { memory } from '../contract/backend.ts';
import { type Receiver, startReceiver } from '../webhooks/receiver.ts';
import { assertFailure, type HttpResponse, jsonOf } from './client.ts';

interface WebhookJson {
  readonly id: string;
  readonly [key: string]: unknown;
}

interface DeliveryJson {
  readonly id: string;
  readonly status: string;
  readonly [key: string]: unknown;
}

const ABSENT = '00000000-0000-4000-8000-000000000000';
const upload = (name: string) => form([{ name: 'file', filename: name, value: 'text' }]);
const patch = (body: object) => ({ ...json(body), method: 'PATCH' });

const webhookOf = (response: HttpResponse): WebhookJson => {
  assert.equal(response.status, 200, response.body.toString());
  return (jsonOf(response) as { webhook: WebhookJson }).webhook;
};

describe('The HTTP API of webhooks', () => {
  let service: GuardedService;
  let receiver: Receiver;
  before(async () => {
    service = await startGuardedService(memory, { hasJobs: true, webhookNetworks: ['loopback'] });
    receiver = await startReceiver();
  });
  after(async () => {
    await service.stop();
    await receiver.stop();
  });
  beforeEach(() => {
    service.grant(grant('', PERMISSIONS));
    service.events();
    receiver.received.length = 0;
    receiver.respond = ({ response }) => void response.writeHead(204).end();
  });
  afterEach(async () => {
    service.grant(grant('', PERMISSIONS));
    for (const { id } of (jsonOf(await service.asAnn('/-/webhooks')) as { webhooks: WebhookJson[] }).webhooks) {
      assert.equal((await service.asAnn(`/-/webhooks/${id}`, { method: 'DELETE' })).status, 200);
    }
  });

  const add = async (body: object = {}) => {
    const response = await service.asAnn('/-/webhooks', json({ url: receiver.url, ...body }));
    return { webhook: webhookOf(response), secret: (jsonOf(response) as { secret: string }).secret };
  };
  const deliveriesOf = async ({ id }: WebhookJson, query = '') =>
    jsonOf(await service.asAnn(`/-/webhooks/${id}/deliveries${query}`)) as {
      deliveries: DeliveryJson[];
      cursor?: string;
    };
  const untilReceived = (count: number) =>
    until(`${count} messages have arrived`, () => receiver.received.length >= count);

  it('adds a webhook that gets the changes of its folder, with signatures of the secret', async () => {
    const settings = { folder: 'notes', types: ['file.created', 'file.replaced'], description: ' Archive ' };
    const { webhook, secret } = await add(settings);
    const { id, createdAt, ...described } = webhook;
    assert.deepEqual(described, {
      url: receiver.url,
      folder: 'notes/',
      types: ['file.created', 'file.replaced'],
      description: 'Archive',
      enabled: true,
      owner: 'ann',
    });
    assert.ok(!Number.isNaN(Date.parse(String(createdAt))));
    assert.equal((await service.asAnn('/upload', upload('a.txt'))).status, 200);
    const parts = [
      { name: 'prefix', value: 'notes' },
      { name: 'file', filename: 'b.txt', value: 'text' },
    ];
    assert.equal((await service.asAnn('/upload', form(parts))).status, 200);
    await untilReceived(1);
    const [received = assert.fail()] = receiver.received;
    receiver.verify(received, secret);
    assert.deepEqual(receiver.paths(), ['notes/b.txt']);
    const delivery = await until('the delivery is stored', async () =>
      (await deliveriesOf(webhook)).deliveries.find(({ status }) => status === 'delivered'),
    );
    assert.partialDeepStrictEqual(delivery, { id: received.id, attempts: 1, message: received.message });
    assert.deepEqual(webhookOf(await service.asAnn(`/-/webhooks/${id}`)), webhook);
  });

  it('never returns the secret again, and replaces it on request', async () => {
    const { webhook, secret } = await add();
    const rotated = await service.asAnn(`/-/webhooks/${webhook.id}/rotate-secret`, { method: 'POST' });
    const { secret: next } = jsonOf(rotated) as { secret: string };
    assert.match(next, /^whsec_/);
    assert.notEqual(next, secret);
    for (const path of ['', `/${webhook.id}`, `/${webhook.id}/deliveries`]) {
      const { body, headers } = await service.asAnn(`/-/webhooks${path}`);
      assert.ok(!body.includes('whsec_'), path);
      assert.equal(headers['cache-control'], 'no-store');
    }
    await service.asAnn(`/-/webhooks/${webhook.id}/test`, { method: 'POST' });
    const [received = assert.fail()] = receiver.received;
    for (const each of [secret, next]) receiver.verify(received, each);
  });

  it('changes the given fields only, and makes the user the owner', async () => {
    const { webhook } = await add({ folder: 'notes', description: 'Old' });
    const path = `/-/webhooks/${webhook.id}`;
    const changed = webhookOf(await service.asAnn(path, patch({ types: ['resync'], description: null })));
    assert.deepEqual(changed, { ...webhook, types: ['resync'], description: null });
    const disabled = webhookOf(await service.asAnn(path, patch({ enabled: false, types: null })));
    assert.deepEqual(disabled, { ...changed, types: null, enabled: false, disabledReason: 'user' });
    assert.equal((await service.asAnn('/upload', upload('missed.txt'))).status, 200);
    assert.equal(webhookOf(await service.asAnn(path, patch({ enabled: true, folder: '' }))).enabled, true);
    assert.equal((await service.asAnn('/upload', upload('after.txt'))).status, 200);
    await untilReceived(1);
    assert.deepEqual(receiver.paths(), ['after.txt']);
  });

  it('tests a webhook with a single request, also if it is disabled', async () => {
    const { webhook } = await add();
    await service.asAnn(`/-/webhooks/${webhook.id}`, patch({ enabled: false }));
    receiver.respond = ({ response }) => void response.writeHead(500).end('broken');
    const response = await service.asAnn(`/-/webhooks/${webhook.id}/test`, { method: 'POST' });
    const { delivery } = jsonOf(response) as { delivery: DeliveryJson };
    const error = 'The endpoint responded with 500.';
    assert.partialDeepStrictEqual(delivery, {
      status: 'failed',
      type: 'webhook.test',
      attempts: 1,
      lastAttempt: { error, responseStatus: 500, response: 'broken' },
      message: { data: { webhook: webhook.id } },
    });
    assert.deepEqual((await deliveriesOf(webhook)).deliveries, [delivery]);
  });

  it('repeats a delivery with the same ID, and lists deliveries in pages', async () => {
    const { webhook } = await add();
    for (let count = 0; count < 2; count++) await service.asAnn(`/-/webhooks/${webhook.id}/test`, { method: 'POST' });
    const first = await deliveriesOf(webhook, '?limit=1');
    const second = await deliveriesOf(webhook, `?limit=1&cursor=${first.cursor}`);
    const [{ id } = assert.fail()] = second.deliveries;
    assert.notEqual(first.deliveries[0]?.id, id);
    const path = `/-/webhooks/${webhook.id}/deliveries/${id}/redeliver`;
    assert.equal((await service.asAnn(path, { method: 'POST' })).status, 200);
    await untilReceived(3);
    assert.equal(receiver.received.at(-1)?.id, id);
    await service.asAnn(`/-/webhooks/${webhook.id}`, patch({ enabled: false }));
    assertFailure(await service.asAnn(path, { method: 'POST' }), 400, /^The webhook ".*" is disabled/);
  });

  it('shows and sends a stored message only while its files are readable', async () => {
    const { webhook } = await add();
    const hidden = form([
      { name: 'prefix', value: 'hr' },
      { name: 'file', filename: 'a.txt', value: 'text' },
    ]);
    assert.equal((await service.asAnn('/upload', hidden)).status, 200);
    await untilReceived(1);
    await until('the delivery has ended', async () => {
      const [delivery] = (await deliveriesOf(webhook)).deliveries;
      return delivery?.status === 'delivered' && 'message' in delivery;
    });
    service.grant(grant('', PERMISSIONS), grant('hr/', ['write']));
    const [{ id, ...rest } = assert.fail()] = (await deliveriesOf(webhook)).deliveries;
    assert.ok(!('message' in rest));
    const path = `/-/webhooks/${webhook.id}/deliveries/${id}/redeliver`;
    assert.equal((await service.asAnn(path, { method: 'POST' })).status, 200);
    const failed = await until('the delivery has failed', async () =>
      (await deliveriesOf(webhook)).deliveries.find(({ status }) => status === 'failed'),
    );
    assert.match(JSON.stringify(failed), /has no permission to read the files/);
    assert.equal(receiver.received.length, 1);
  });

  it('refuses invalid settings with the value', async () => {
    for (const [body, error] of [
      [{}, /lacks "url"/],
      [{ url: 'ftp://example.org/' }, /^The webhook URL "ftp:\/\/example.org\/" must begin with https:\/\/\.$/],
      [{ url: 'https://10.0.0.1/' }, /^The webhook URL "https:\/\/10\.0\.0\.1\/" has a private or reserved address/],
      [{ url: receiver.url, folder: 'a//b' }, /empty segment/],
      [
        { url: receiver.url, types: ['file.read'] },
        /The field "types\/0" of the body must be equal .* is "file\.read"/,
      ],
      [{ url: receiver.url, description: 'a\nb' }, /^The description "a\\nb" must be one line/],
      [{ url: receiver.url, secret: 'mine' }, /unknown field "secret"/],
      [{ url: receiver.url, types: 'file.created' }, /"types"/],
      [{ url: receiver.url, types: [] }, /The field "types" of the body must NOT have fewer than 1 items/],
    ] as const) {
      assertFailure(await service.asAnn('/-/webhooks', json(body)), 400, error);
    }
    assertFailure(await service.asAnn('/-/webhooks', { method: 'POST', body: 'url=a' }), 400, /must be JSON/);
    const { webhook } = await add();
    assertFailure(
      await service.asAnn(`/-/webhooks/${webhook.id}`, patch({ url: 'http://1.1.1.1/' })),
      400,
      /1\.1\.1\.1/,
    );
    assertFailure(await service.asAnn(`/-/webhooks/${webhook.id}/deliveries?cursor=x`), 400, /cursor/);
  });

  it('returns 404 for a webhook or delivery that does not exist', async () => {
    const { webhook } = await add();
    const missing = `/-/webhooks/${ABSENT}`;
    for (const [path, call] of [
      [missing, {}],
      [missing, { method: 'DELETE' }],
      [missing, patch({ enabled: true })],
      [`${missing}/test`, { method: 'POST' }],
      [`${missing}/rotate-secret`, { method: 'POST' }],
      [`${missing}/deliveries`, {}],
      [`${missing}/deliveries/msg_0/redeliver`, { method: 'POST' }],
    ] as const) {
      assertFailure(await service.asAnn(path, call), 404, /^The webhook "00000000.*" does not exist\.$/);
    }
    const path = `/-/webhooks/${webhook.id}/deliveries/msg_0/redeliver`;
    assertFailure(await service.asAnn(path, { method: 'POST' }), 404, /^The delivery "msg_0" does not exist/);
  });

  it('records changes in the audit log, with the URL but without its query', async () => {
    const { webhook } = await add({ url: `${receiver.url}?token=secret`, folder: 'notes' });
    const path = `/-/webhooks/${webhook.id}`;
    await service.asAnn(path, patch({ description: 'x' }));
    await service.asAnn(`${path}/rotate-secret`, { method: 'POST' });
    await service.asAnn(path, { method: 'DELETE' });
    const details = { event: 'change', path: 'notes/', destination: receiver.url, outcome: 'done' };
    assert.deepEqual(
      service.events(),
      ['add webhook', 'change webhook', 'rotate webhook secret', 'remove webhook'].map((action) => ({
        ...details,
        action,
        who: 'ann',
        way: 'token',
      })),
    );
  });

  it('refuses requests of other sites', async () => {
    const headers = { ...json({ url: receiver.url }), headers: { 'sec-fetch-site': 'cross-site' } };
    assertFailure(await service.asAnn('/-/webhooks', headers), 403, /Cross-site request blocked/);
  });
});

describe('The HTTP API of webhooks of a read-only service', () => {
  it('lists webhooks, and refuses changes', async (t) => {
    const service = await startGuardedService(memory, { hasJobs: true, readOnly: true });
    t.after(() => service.stop());
    service.grant(grant('', PERMISSIONS));
    assert.deepEqual(jsonOf(await service.asAnn('/-/webhooks')), { success: true, webhooks: [] });
    const body = json({ url: 'https://hooks.example.org/' });
    assertFailure(await service.asAnn('/-/webhooks', body), 403, /read-only/);
    assertFailure(await service.asAnn(`/-/webhooks/${ABSENT}`, { method: 'DELETE' }), 403, /read-only/);
  });
});
