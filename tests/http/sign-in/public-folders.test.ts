import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createToken } from '../../../src/access/credentials.ts';
import { PERMISSIONS } from '../../../src/access/policy.ts';
import { parseFolder, ROOT } from '../../../src/model/path.ts';
import { jsonOf, send } from '../client.ts';
import { person, startSignedInService } from './signed-in-service.ts';

const EVERYONE = { kind: 'everyone' } as const;

it('Only users who manage a folder learn that everyone can read it', async (t) => {
  const [ann, bob] = [createToken(), createToken()];
  const personWith = (name: string, { hash }: { readonly hash: string }) =>
    person(name, { tokens: [{ name: 'test', hash, expires: undefined }] });
  const service = await startSignedInService({
    people: [personWith('ann', ann), personWith('bob', bob)],
    grants: [
      { folder: ROOT, to: EVERYONE, permissions: ['read'] },
      { folder: parseFolder('private/'), to: EVERYONE, permissions: [] },
      { folder: ROOT, to: { kind: 'person', name: 'ann' }, permissions: PERMISSIONS },
      { folder: ROOT, to: { kind: 'person', name: 'bob' }, permissions: ['read', 'write'] },
    ],
  });
  t.after(() => service.stop());
  const headersOf = (token: string) => ({ authorization: `Bearer ${token}`, accept: 'application/json' });
  await send(service.port, '/create_folder', {
    method: 'POST',
    headers: { ...headersOf(ann.token), 'content-type': 'application/json' },
    body: JSON.stringify({ path: 'private/' }),
  });
  const publicOf = async (path: string, headers: Record<string, string>) =>
    jsonOf(await send(service.port, path, { headers }))['public'];

  assert.equal(await publicOf('/', headersOf(ann.token)), true);
  assert.equal(await publicOf('/private/', headersOf(ann.token)), undefined);
  assert.equal(await publicOf('/', headersOf(bob.token)), undefined);
  assert.equal(await publicOf('/', { accept: 'application/json' }), undefined);
});
