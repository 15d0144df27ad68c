import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { PERMISSIONS, type Permission } from '../../src/access/policy.ts';
import type { FolderPath } from '../../src/model/path.ts';
import { jsonOf, send } from '../http/client.ts';
import { readDocumentedNeeds } from './documented-needs.ts';
import { type GuardedService, grant, json, startGuardedService } from './guarded-service.ts';
import { REQUESTS, type TableRequest } from './requests.ts';
import { plantStore, SOURCE, type TestTree } from './tree.ts';

const ROWS = (await readDocumentedNeeds()).filter(({ title }) => REQUESTS[title]);

describe('A request with an app token of a user with all permissions', () => {
  let service: GuardedService;
  let tree: TestTree;
  before(async () => {
    service = await startGuardedService(undefined, { hasJobs: true });
    service.grant(grant('', PERMISSIONS));
    tree = await plantStore(service.store, async (change) => service.changes?.recorder.record([change]));
  });
  after(() => service.stop());

  const create = async (folder: FolderPath | string, permissions: readonly Permission[]): Promise<string> => {
    const created = jsonOf(await service.asAnn('/-/app-tokens', json({ name: 'x', folder, permissions })));
    return String(created['secret']);
  };
  const statusWith = async (secret: string, { path, body, headers, method }: TableRequest): Promise<number> => {
    const response = await send(service.port, tree.withIds(path), {
      method,
      headers: { ...headers, authorization: `Bearer ${secret}` },
      ...(body !== undefined && { body: typeof body === 'string' ? tree.withIds(body) : body }),
    });
    return response.status;
  };

  it('is refused outside of the folder of the token', async () => {
    for (const folder of ['elsewhere/', 'top/a/', 'top/abx/', `${SOURCE}sub/deep/`]) {
      const secret = await create(folder, PERMISSIONS);
      for (const { title, isOfItem } of ROWS) {
        for (const request of REQUESTS[title] ?? []) {
          const status = await statusWith(secret, request);
          const isEmpty = folder.startsWith(SOURCE) && isTraversing(title);
          const expected = isOfItem ? 404 : isEmpty ? 200 : 403;
          assert.equal(status, expected, `${title}: ${request.method} ${request.path}, token for ${folder}`);
        }
      }
    }
    assert.ok(await tree.restore());
  });

  it('is refused without a permission that the docs require', async () => {
    for (const missing of PERMISSIONS) {
      const secret = await create(
        '',
        PERMISSIONS.filter((permission) => permission !== missing),
      );
      for (const { title, needs, isOfItem } of ROWS) {
        if (!needs.some(({ right }) => right === missing)) continue;
        for (const request of REQUESTS[title] ?? []) {
          const status = await statusWith(secret, request);
          const expected =
            isOfItem && missing === 'read' ? [403, 404] : isVisibleAnyway(title, missing) ? [200] : [403];
          const name = `${title}: ${request.method} ${request.path}, without ${missing}`;
          assert.ok(expected.includes(status), `${name}: ${status}`);
        }
      }
    }
    assert.ok(await tree.restore());
  });

  it('is accepted with the permissions that the docs require, in the folder', async () => {
    for (const { title, needs, isOfHistory } of ROWS) {
      if (needs.some(({ right }) => right !== 'read')) continue;
      const secret = await create(SOURCE, isOfHistory ? ['read', 'write'] : ['read']);
      for (const request of REQUESTS[title] ?? []) {
        assert.equal(await statusWith(secret, request), 200, `${title}: ${request.method} ${request.path}`);
      }
    }
  });

  /** Whether a request shows the folders that lead to the folder of the token. */
  const isTraversing = (title: string) => TRAVERSING.has(title);
  /** Without the right to read, users with another right see an empty folder. */
  const isVisibleAnyway = (title: string, missing: Permission) =>
    missing === 'read' && isTraversing(title) && title !== 'Empty the trash';
});

const TRAVERSING: ReadonlySet<string> = new Set([
  'List a folder',
  'Download a folder as an archive',
  'Follow changes',
  'List the trash',
  'Empty the trash',
]);
