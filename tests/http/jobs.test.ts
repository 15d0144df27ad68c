import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Type } from 'typebox';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { defineKind } from '../../src/jobs/job.ts';
import type { Store } from '../../src/model/store.ts';
import { until } from '../../testing/until.ts';
import { EVERYONE, type GuardedService, grant, json, startGuardedService } from '../access/guarded-service.ts';
import { memory } from '../contract/backend.ts';
import { assertFailure, assertSuccess, type HttpResponse, jsonOf } from './client.ts';

interface JobJson {
  readonly id: string;
  readonly kind: string;
  readonly status: string;
  readonly user: string | null;
  readonly input: object;
  readonly result?: object;
  readonly failure?: {
    readonly code: string;
    readonly error: string;
    readonly lock?: { readonly path: string; readonly user?: string; readonly expiresAt: string };
  };
}

const ASYNC = { prefer: 'respond-async' };
/** Makes the service wait for the end of a job, at most as long as it ever does. */
const WAIT = { prefer: 'respond-async, wait=99' };
const COPY = { source: 'a', destination: 'b', is_folder: true };

describe('jobs of folder operations', () => {
  let service: GuardedService;
  /** Set while copies have to wait. */
  let gate: Promise<void> | undefined;
  /** The signal of the last copy. */
  let signalOfCopy: AbortSignal | undefined;
  /** Makes copies wait until the returned function is called. */
  const closeGate = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    signalOfCopy = undefined;
    return resolve;
  };
  const wrap = (store: Store): Store => ({
    ...store,
    async copyFolder(from, to, options) {
      signalOfCopy = options.signal;
      await gate;
      options.signal?.throwIfAborted();
      if (!store.copyFolder) throw new Error('The store of this test copies folders.');
      return store.copyFolder(from, to, options);
    },
  });
  beforeEach(async () => {
    gate = undefined;
    service = await startGuardedService(memory, { hasJobs: true, basePath: '/base', wrap });
    service.grant(grant('', PERMISSIONS));
    await service.plant({ 'a/1': 'one', 'a/2': 'two' });
  });
  afterEach(() => service.stop());

  const jobOf = (response: HttpResponse) => (jsonOf(response) as { job: JobJson }).job;
  const unfinished = async () =>
    (jsonOf(await service.asAnn('/base/-/jobs?unfinished=true')) as { jobs: JobJson[] }).jobs;
  const get = async (id: string) => jobOf(await service.asAnn(`/base/-/jobs/${id}`));
  const untilEnded = ({ id }: JobJson) =>
    until('the job has ended', async () => {
      const job = await get(id);
      return ['queued', 'running'].includes(job.status) ? undefined : job;
    });
  const assertSucceeds = async (job: JobJson) => {
    const { status, failure } = await untilEnded(job);
    assert.deepEqual([status, failure], ['succeeded', undefined]);
  };
  const start = async (path: string, body: object): Promise<JobJson> => {
    const response = await service.asAnn(`/base${path}`, json(body, ASYNC));
    assert.equal(response.status, 202, response.body.toString());
    const job = jobOf(response);
    assert.equal(response.headers.location, `/base/-/jobs/${job.id}`);
    assert.equal(response.headers['preference-applied'], 'respond-async');
    return job;
  };

  it('fails like the operation itself if a lock forbids it', async () => {
    const body = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
    assert.equal((await service.asAnn('/base/-/dav/a/1', { method: 'LOCK', body })).status, 200);
    const direct = jsonOf(await service.asAnn('/base/delete_folder/a', { method: 'DELETE' }));
    const { lock } = direct as unknown as { lock: Record<string, string> };
    assert.deepEqual([direct['code'], lock['path'], lock['user']], ['locked', 'a/1', 'ann']);
    assert.ok(Date.parse(lock['expiresAt'] ?? '') > Date.now());
    const waiting = await service.asAnn('/base/delete_folder/a', { method: 'DELETE', headers: WAIT });
    assertFailure(waiting, 409, /A file or folder in "a\/" is locked by "ann", until /);
    assert.deepEqual(jsonOf(waiting), direct);
    const job = jobOf(await service.asAnn('/base/delete_folder/a', { method: 'DELETE', headers: ASYNC }));
    const { status, failure } = await untilEnded(job);
    assert.equal(status, 'failed');
    assert.deepEqual({ success: false, ...failure }, direct);
  });

  it('copy, rename, move and delete a folder after the response', async () => {
    const copied = await start('/copy', COPY);
    assert.deepEqual(
      [copied.kind, copied.user, copied.input],
      ['copy-folder', 'ann', { source: 'a/', destination: 'b/', overwrite: false }],
    );
    await assertSucceeds(copied);
    await assertSucceeds(await start('/rename_folder/b', { newName: 'c' }));
    const move = { source: 'c', destination: 'd/e', is_folder: true };
    await assertSucceeds(await start('/move', move));
    assert.deepEqual(await service.contents(), { 'a/1': 'one', 'a/2': 'two', 'd/e/1': 'one', 'd/e/2': 'two' });
    const deleted = await service.asAnn('/base/delete_folder/d', { method: 'DELETE', headers: ASYNC });
    assert.equal(deleted.status, 202);
    await assertSucceeds(jobOf(deleted));
    assert.deepEqual(await service.contents(), { 'a/1': 'one', 'a/2': 'two' });
    const actions = service.events().map(({ action, outcome, who, way }) => [action, outcome, who, way]);
    assert.deepEqual(
      actions,
      ['copy folder', 'rename folder', 'move folder', 'delete folder'].map((action) => [
        action,
        'done',
        'ann',
        'token',
      ]),
    );
  });

  it('are not started without the preference, or for files', async () => {
    assert.equal((await service.asAnn('/base/copy', json(COPY))).status, 200);
    const file = { source: 'a/1', destination: 'copy', is_folder: false };
    assert.equal((await service.asAnn('/base/copy', json(file, ASYNC))).status, 200);
    assert.equal((await service.asAnn('/base/copy', json({ ...COPY, destination: 'c' }, { prefer: 'x' }))).status, 200);
  });

  it('fail with the error that the request would have had', async () => {
    const job = await untilEnded(await start('/move', { source: 'absent', destination: 'b', is_folder: true }));
    assert.deepEqual(job.failure, { code: 'not-found', error: 'The folder "absent/" does not exist.' });
  });

  it('are refused at once without the permission', async () => {
    service.grant(grant('', ['read']));
    assertFailure(
      await service.asAnn('/base/copy', json(COPY, ASYNC)),
      403,
      /don't have permission to add to all of "b\/"/,
    );
    assertFailure(await service.asAnonymous('/base/copy', json(COPY, ASYNC)), 401, /^Sign in/);
    assert.deepEqual(
      jsonOf(await service.asAnn('/base/-/jobs?limit=1')),
      jsonOf(await service.asAnn('/base/-/jobs?limit=1')),
    );
  });

  for (const [what, revoke] of [
    ['the permission is revoked', () => service.grant(grant('', ['read']))],
    ['the user is removed, although the grant remains', () => service.removeAnn()],
  ] as const) {
    it(`end when ${what} while they run`, async () => {
      const open = closeGate();
      const job = await start('/copy', COPY);
      const signal = await until('the copy has begun', () => signalOfCopy);
      revoke();
      await until('the copy is aborted', () => signal.aborted);
      service.grant(grant('', PERMISSIONS));
      open();
      const { status, failure } = await untilEnded(job);
      assert.deepEqual([status, failure?.code], ['failed', 'permission-denied']);
      assert.deepEqual(await service.contents(), { 'a/1': 'one', 'a/2': 'two' });
    });
  }

  it('are cancelled by DELETE', async () => {
    const open = closeGate();
    const job = await start('/copy', COPY);
    await until('the job runs', async () => (await get(job.id)).status === 'running');
    assert.equal((await service.asAnn(`/base/-/jobs/${job.id}`, { method: 'DELETE' })).status, 200);
    open();
    assert.equal((await untilEnded(job)).status, 'cancelled');
    assert.deepEqual(await service.contents(), { 'a/1': 'one', 'a/2': 'two' });
  });

  it('are visible to their user, and to users who manage the root', async () => {
    const own = await untilEnded(await start('/copy', COPY));
    service.grant(grant('', PERMISSIONS, EVERYONE));
    const anonymous = jobOf(await service.asAnonymous('/base/copy', json({ ...COPY, destination: 'c' }, ASYNC)));
    assert.equal(anonymous.user, null);
    const listed = (jsonOf(await service.asAnn('/base/-/jobs')) as { jobs: JobJson[] }).jobs.map(({ id }) => id);
    assert.ok(listed.includes(own.id) && listed.includes(anonymous.id));
    service.grant(grant('', ['read', 'write']));
    const seen = (jsonOf(await service.asAnn('/base/-/jobs')) as { jobs: JobJson[] }).jobs;
    assert.ok(seen.some(({ id }) => id === own.id));
    assert.ok(seen.every(({ user }) => user === 'ann'));
    for (const method of ['GET', 'DELETE']) {
      assertFailure(
        await service.asAnn(`/base/-/jobs/${anonymous.id}`, { method }),
        404,
        /^The job ".*" does not exist/,
      );
      assertFailure(
        await service.asAnonymous(`/base/-/jobs/${own.id}`, { method }),
        404,
        /^The job ".*" does not exist/,
      );
    }
    assert.deepEqual(jsonOf(await service.asAnonymous('/base/-/jobs')), { success: true, jobs: [] });
    assert.equal(jobOf(await service.asAnonymous(`/base/-/jobs/${anonymous.id}`)).id, anonymous.id);
  });

  it('return 400 for an ID with a control character, which no database has to look up', async () => {
    for (const path of ['jobs/%00', 'jobs/a%0Ab', 'app-tokens/%00', 'links/%00']) {
      const method = path.startsWith('app') ? 'DELETE' : 'GET';
      assertFailure(
        await service.asAnn(`/base/-/${path}`, { method }),
        400,
        /^The id ".*" contains a control character/,
      );
    }
  });

  it('respond like the operation itself if they end while the request waits', async () => {
    const copied = await service.asAnn('/base/copy', json(COPY, WAIT));
    assertSuccess(copied, { message: 'Item copied successfully' });
    assert.equal(typeof jsonOf(copied)['change'], 'string');
    const renamed = await service.asAnn('/base/rename_folder/b', json({ newName: 'c' }, WAIT));
    assertSuccess(renamed, { message: 'Folder renamed successfully', newPrefix: 'c/' });
    const moved = await service.asAnn('/base/move', json({ source: 'c', destination: 'd', is_folder: true }, WAIT));
    assert.deepEqual([moved.status, moved.headers.location], [200, undefined]);
    const deleted = await service.asAnn('/base/delete_folder/d', { method: 'DELETE', headers: WAIT });
    assertSuccess(deleted, { message: 'Folder deleted successfully' });
    assert.deepEqual(await service.contents(), { 'a/1': 'one', 'a/2': 'two' });
    assert.equal((jsonOf(await service.asAnn('/base/-/jobs')) as { jobs: JobJson[] }).jobs.length, 4);
  });

  it('respond as soon as they end, and with 202 if they are cancelled before', async () => {
    const open = closeGate();
    const copied = service.asAnn('/base/copy', json(COPY, WAIT));
    await until('the copy has begun', () => signalOfCopy);
    open();
    assert.equal((await copied).status, 200);
    const openAgain = closeGate();
    const cancelled = service.asAnn('/base/copy', json({ ...COPY, destination: 'c' }, WAIT));
    await until('the copy has begun', () => signalOfCopy);
    const [running, ...others] = await unfinished();
    assert.ok(running && others.length === 0);
    await service.asAnn(`/base/-/jobs/${running.id}`, { method: 'DELETE' });
    openAgain();
    const response = await cancelled;
    assert.deepEqual([response.status, jobOf(response).status], [202, 'cancelled']);
    assert.equal(response.headers['preference-applied'], 'respond-async, wait=10');
    assert.deepEqual(await unfinished(), []);
  });

  it('fail like the operation itself while the request waits', async () => {
    await service.plant({ 'a/1': 'one', 'b/1': 'other', file: 'x' });
    const requests: readonly [path: string, body: object][] = [
      ['/copy', COPY],
      ['/move', { source: 'absent', destination: 'c', is_folder: true }],
      ['/move', { source: 'a', destination: 'a/c', is_folder: true }],
      ['/copy', { ...COPY, destination: 'file' }],
      ['/rename_folder/a', { newName: 'b' }],
    ];
    for (const [path, body] of requests) {
      const direct = await service.asAnn(`/base${path}`, json(body));
      const asJob = await service.asAnn(`/base${path}`, json(body, WAIT));
      assert.ok(direct.status >= 400, path);
      assert.deepEqual([asJob.status, jsonOf(asJob)], [direct.status, jsonOf(direct)]);
    }
    service.grant(grant('', ['read']), grant('b', ['write']));
    service.events();
    const direct = await service.asAnn('/base/copy', json(COPY));
    const recorded = service.events();
    const asJob = await service.asAnn('/base/copy', json(COPY, WAIT));
    assert.deepEqual([asJob.status, jsonOf(asJob)], [direct.status, jsonOf(direct)]);
    assert.deepEqual(service.events(), recorded);
  });

  it('restore from the trash, delete an item in it, and empty it', async () => {
    const trash = async () =>
      (jsonOf(await service.asAnn('/base/-/trash')) as { entries: { id: string; path: string }[] }).entries;
    const idOf = async (path: string) => (await trash()).find((item) => item.path === path)?.id ?? assert.fail(path);
    await service.plant({ 'a/1': 'one', 'b/1': 'two', 'c/1': 'three', 'd/1': 'four' });
    for (const name of ['a', 'b', 'c', 'd']) {
      await service.asAnn(`/base/delete_folder/${name}`, { method: 'DELETE', headers: WAIT });
    }
    await service.plant({ 'a/1': 'other' });
    const restored = `/base/-/trash/${await idOf('a/')}/restore`;
    const conflict = await service.asAnn(restored, json({}));
    const conflictOfJob = await service.asAnn(restored, json({}, WAIT));
    assert.equal(conflict.status, 409);
    assert.deepEqual([conflictOfJob.status, jsonOf(conflictOfJob)], [409, jsonOf(conflict)]);
    const renamed = await service.asAnn(restored, json({ onConflict: 'rename' }, WAIT));
    assertSuccess(renamed, { message: 'Item restored successfully', path: 'a (2)/' });
    assertFailure(await service.asAnn(restored, json({}, WAIT)), 404, /^The trash has no item/);
    const moved = await service.asAnn(`/base/-/trash/${await idOf('b/')}/restore`, json({ to: 'e/f' }, ASYNC));
    const { id, kind, input } = jobOf(moved);
    assert.deepEqual(
      [kind, input],
      ['restore-from-trash', { id: (input as { id: string }).id, source: 'b/', destination: 'e/f/', rename: false }],
    );
    const ended = await untilEnded(jobOf(moved));
    const { path, change } = ended.result as { path: string; change: string };
    assert.deepEqual([ended.status, path, typeof change, ended.id], ['succeeded', 'e/f/', 'string', id]);
    assert.deepEqual(await service.contents(), { 'a/1': 'other', 'a (2)/1': 'one', 'e/f/1': 'two' });
    const purge = { method: 'DELETE', headers: WAIT };
    const purged = await service.asAnn(`/base/-/trash/${await idOf('c/')}`, purge);
    assert.deepEqual(jsonOf(purged), { success: true, message: 'Item deleted permanently' });
    const emptied = await service.asAnn('/base/-/trash', purge);
    assert.deepEqual(jsonOf(emptied), { success: true, message: 'Trash emptied successfully', removed: 1 });
    assert.deepEqual(await trash(), []);
  });

  it('of the trash are refused at once without the permission', async () => {
    await service.asAnn('/base/delete_folder/a', { method: 'DELETE', headers: WAIT });
    const { entries } = jsonOf(await service.asAnn('/base/-/trash')) as { entries: { id: string }[] };
    const item = `/base/-/trash/${entries[0]?.id}`;
    service.grant(grant('', ['read', 'manage']));
    assertFailure(await service.asAnn(`${item}/restore`, json({}, ASYNC)), 403, /to add to all of "a\/"/);
    service.grant(grant('', ['read', 'write']));
    assertFailure(await service.asAnn(item, { method: 'DELETE', headers: ASYNC }), 403, /to change all of "a\/"/);
    assertFailure(
      await service.asAnn('/base/-/trash', { method: 'DELETE', headers: ASYNC }),
      403,
      /to change the root/,
    );
    service.grant();
    assertFailure(await service.asAnn(`${item}/restore`, json({}, ASYNC)), 403, /to read/);
  });

  it('are listed in pages', async () => {
    await untilEnded(await start('/copy', COPY));
    await untilEnded(await start('/copy', { ...COPY, destination: 'c' }));
    const first = jsonOf(await service.asAnn('/base/-/jobs?limit=1')) as { jobs: JobJson[]; cursor: string };
    const second = jsonOf(await service.asAnn(`/base/-/jobs?limit=1&cursor=${first.cursor}`)) as { jobs: JobJson[] };
    assert.equal(first.jobs.length, 1);
    assert.notEqual(first.jobs[0]?.id, second.jobs[0]?.id);
    assertFailure(await service.asAnn('/base/-/jobs?cursor=x'), 400, /cursor/);
  });
});

describe('jobs of the service itself', () => {
  it('are visible only to users who manage the root, who can cancel them', async (t) => {
    let signal: AbortSignal | undefined;
    const kind = defineKind({
      name: 'scheduled',
      input: Type.Object({}),
      intervalMs: 3_600_000,
      run: (_, context) => {
        ({ signal } = context);
        return new Promise((_resolve, reject) => {
          context.signal.addEventListener('abort', () => reject(context.signal.reason), { once: true });
        });
      },
    });
    const service = await startGuardedService(memory, { hasJobs: true, scheduled: [kind] });
    t.after(() => service.stop());
    await until('the job runs', () => signal !== undefined);
    service.grant(grant('', PERMISSIONS), grant('', PERMISSIONS.slice(0, 2), EVERYONE));
    const { jobs } = jsonOf(await service.asAnn('/-/jobs')) as { jobs: JobJson[] };
    assert.deepEqual(
      jobs.map((job) => [job.kind, job.user, job.input]),
      [['scheduled', null, {}]],
    );
    const [{ id } = assert.fail()] = jobs;
    for (const method of ['GET', 'DELETE']) {
      assertFailure(await service.asAnonymous(`/-/jobs/${id}`, { method }), 404, /^The job ".*" does not exist/);
    }
    assert.deepEqual(jsonOf(await service.asAnonymous('/-/jobs')), { success: true, jobs: [] });
    assert.equal((await service.asAnn(`/-/jobs/${id}`, { method: 'DELETE' })).status, 200);
    await until('the job is aborted', () => signal?.aborted === true);
  });
});
