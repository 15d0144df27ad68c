import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { assertFailure, assertSuccess, jsonOf, send } from '../http/client.ts';
import { type GuardedService, grant, json, startGuardedService } from './guarded-service.ts';

let service: GuardedService;
before(async () => {
  service = await startGuardedService(undefined, { hasJobs: true });
});
after(() => service.stop());

const ALL = ['read', 'write', 'manage'] as const;

beforeEach(async () => {
  service.grant(grant('', ALL));
  await service.appTokens?.table.revokeAll('ann');
  service.events();
});

interface Created {
  readonly id: string;
  readonly secret: string;
}

async function create(settings: object = {}): Promise<Created> {
  const response = await service.asAnn('/-/app-tokens', json({ name: 'Phone', ...settings }));
  assert.equal(response.status, 200, response.body.toString());
  const { token, secret } = jsonOf(response) as { token: { id: string }; secret: string };
  return { id: token.id, secret };
}

const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
});

describe('An app token', () => {
  it('is created, listed without its secret, and revoked by its user', async () => {
    const { id, secret } = await create({ folder: 'photos', permissions: ['write', 'read'], expiresAt: null });
    assert.match(secret, /^holdall_app_[\w-]{43}$/);
    const listed = jsonOf(await service.asAnn('/-/app-tokens'))['tokens'] as Record<string, unknown>[];
    const [{ createdAt, ...token } = {}] = listed;
    assert.equal(typeof createdAt, 'string');
    assert.deepEqual(token, { id, name: 'Phone', folder: 'photos/', permissions: ['read', 'write'] });
    assertSuccess(await service.asAnn(`/-/app-tokens/${id}`, { method: 'DELETE' }), {
      message: 'App token revoked successfully',
    });
    assertFailure(await service.asAnn(`/-/app-tokens/${id}`, { method: 'DELETE' }), 404, /does not exist/);
    assert.deepEqual(
      service.events().filter(({ event }) => event === 'change'),
      [
        {
          event: 'change',
          action: 'create app token',
          path: 'photos/',
          appToken: id,
          outcome: 'done',
          who: 'ann',
          way: 'token',
        },
        {
          event: 'change',
          action: 'revoke app token',
          path: 'photos/',
          appToken: id,
          outcome: 'done',
          who: 'ann',
          way: 'token',
        },
      ],
    );
  });

  it('works as Bearer, and as the password of Basic with the name of its user or none', async () => {
    await service.plant({ 'a.txt': 'a' });
    const { secret } = await create();
    for (const headers of [{ authorization: `Bearer ${secret}` }, basic('ann', secret), basic('', secret)]) {
      const response = await send(service.port, '/file/a.txt', { headers });
      assert.equal(response.status, 200, JSON.stringify(headers));
    }
    for (const name of ['bob', 'Ann', 'ann ']) {
      assertFailure(await send(service.port, '/file/a.txt', { headers: basic(name, secret) }), 401, /another user/);
    }
  });
});
