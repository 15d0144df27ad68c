import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { memory } from '../contract/backend.ts';
import type { Call } from '../http/client.ts';
import { type GuardedService, grant, json, startGuardedService } from './guarded-service.ts';

const PAST = 'Thu, 01 Jan 1998 00:00:00 GMT';
const FUTURE = 'Thu, 01 Jan 2099 00:00:00 GMT';

describe('Conditions of a user with the permission manage, but without read', () => {
  let service: GuardedService;
  before(async () => {
    service = await startGuardedService(memory);
  });
  after(() => service.stop());

  const prepare = async () => {
    await service.plant({ 'inbox/a.txt': 'text' });
    service.grant(grant('inbox/', ['manage', 'read'], { kind: 'signed-in' }));
    const etag = String((await service.asAnn('/file/inbox/a.txt')).headers.etag);
    service.grant(grant('inbox/', ['manage'], { kind: 'signed-in' }));
    return etag;
  };
  const requests: readonly (readonly [path: string, call: Call])[] = [
    ['/file/inbox/a.txt', { method: 'DELETE' }],
    ['/rename/inbox/a.txt', json({ newName: 'b.txt' })],
  ];
  const statusesOf = async (conditionsOf: (etag: string) => Readonly<Record<string, string>>) => {
    const statuses: number[] = [];
    for (const [path, call] of requests) {
      const etag = await prepare();
      const { status, body } = await service.asAnn(path, {
        ...call,
        headers: { ...call.headers, ...conditionsOf(etag) },
      });
      statuses.push(status);
      if (status === 412) assert.match(body.toString(), /you don't have the permission to read/);
      assert.deepEqual(Object.keys(await service.contents()).includes('inbox/a.txt'), status !== 200);
    }
    return [...new Set(statuses)];
  };

  it('are evaluated for a delete and a rename', async () => {
    const rows: readonly (readonly [(etag: string) => Record<string, string>, number])[] = [
      [() => ({ 'if-match': '*' }), 200],
      [(etag) => ({ 'if-match': etag }), 200],
      [(etag) => ({ 'if-match': `"x", ${etag}` }), 200],
      [() => ({ 'if-match': '"x", "y"' }), 412],
      [() => ({ 'if-none-match': '"x"' }), 200],
      [() => ({ 'if-none-match': 'JoplinIgnore-1' }), 200],
      [() => ({ 'if-none-match': '*' }), 412],
      [(etag) => ({ 'if-none-match': etag }), 412],
      [() => ({ 'if-unmodified-since': 'yesterday' }), 200],
    ];
    for (const [conditionsOf, status] of rows) {
      assert.deepEqual(await statusesOf(conditionsOf), [status], JSON.stringify(conditionsOf('etag')));
    }
  });

  it('do not reveal when the file was modified', async () => {
    for (const date of [PAST, FUTURE])
      assert.deepEqual(await statusesOf(() => ({ 'if-unmodified-since': date })), [412], date);
  });
});
