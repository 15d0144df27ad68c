import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { runHoldall, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { type ServiceInProcess, startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { assertFailure, assertSuccess, jsonOf, pathsBelow, postJson, send, upload } from '../http/client.ts';
import { fill } from './filled.ts';
import { mountExt4, mountTmpfs } from './mounts.ts';

/** As the web UI deletes. */
const AS_JOB = { method: 'DELETE', headers: { prefer: 'respond-async, wait=10' } };

const PASSWORD = 'correct horse';

describe('A service that starts on a full disk', () => {
  for (const end of ['stopped', 'killed'] as const) {
    it(`lists, reads and frees space after it was ${end}`, async (t) => {
      const root = join(await temporaryFolder(t), 'root');
      const reason = await mountExt4(t, { image: `${root}.img`, folder: root });
      if (reason) return t.skip(reason);
      const before = end === 'killed' ? await startHoldall(t, { root }) : await startInProcess(t, { root });
      for (const path of ['a/1', 'a/2', 'b/1', 'c']) await upload(before.port, path, Buffer.alloc(100_000, path));
      assert.equal((await send(before.port, '/delete/a/1', { method: 'DELETE' })).status, 200);
      await ('kill' in before ? before.kill() : before.stop());
      await fill(join(root, 'filler'));

      const { port } = await startInProcess(t, { root });
      assert.equal((await send(port, '/-/health/ready')).status, 200);
      assert.deepEqual(await pathsBelow(port), ['a/', 'a/2', 'b/', 'b/1', 'c', 'filler', 'lost+found/']);
      assert.deepEqual((await send(port, '/file/a/2')).body, Buffer.alloc(100_000, 'a/2'));
      // The folder for the records of moves has no space either.
      assertSuccess(await postJson(port, '/rename/a/2', { newName: '3' }), {
        message: 'File renamed successfully',
        newKey: 'a/3',
      });
      assertSuccess(await postJson(port, '/move', { source: 'a/3', destination: 'a/2', is_folder: false }), {
        message: 'Item moved successfully',
      });
      assertSuccess(await send(port, '/delete_folder/b?permanent=true', AS_JOB), {
        message: 'Folder deleted successfully',
      });
      await fill(join(root, 'more'));
      assertSuccess(await send(port, '/-/trash', AS_JOB), { message: 'Trash emptied successfully', removed: 1 });
      await fill(join(root, 'even more'));
      for (const path of ['filler', 'more', 'even%20more']) {
        assert.equal((await send(port, `/delete/${path}?permanent=true`, AS_JOB)).status, 200);
      }
      assert.equal((await upload(port, 'd', Buffer.alloc(100_000))).status, 200);
      await untilDatabase(port, 'available');
    });
  }
});

describe('A service with a full STATE_DIR', () => {
  it('starts, serves files, uses its database as soon as there is space, and loses nothing when it is full again', async (t) => {
    const service = await withFullState(t);
    if (typeof service === 'string') return t.skip(service);
    const { port, log, filler } = service;
    await untilDatabase(port, 'unavailable');
    assert.match(
      String(log.find(({ engine }) => engine === 'sqlite')?.['reason']),
      /state.*can't grow, because the disk is full/,
    );
    const cookie = await signIn(port);
    assert.equal((await send(port, '/file/a/1', { headers: { cookie } })).status, 200);
    assert.equal((await send(port, '/file/new', { method: 'PUT', headers: { cookie }, body: 'new' })).status, 201);
    const removed = await send(port, '/delete_folder/a?permanent=true', {
      ...AS_JOB,
      headers: { ...AS_JOB.headers, cookie },
    });
    assertSuccess(removed, { message: 'Folder deleted successfully' });
    const refused = await beginUpload(port, cookie);
    assertFailure(refused, 507, /\(STATE_DIR\) is full/);
    assert.equal(jsonOf(refused)['code'], 'state-full');
    await rm(filler);
    await untilDatabase(port, 'available');
    assert.equal((await beginUpload(port, cookie)).status, 201);

    await fill(filler);
    const begun: string[] = [];
    const again = await until('the database is full', async () => {
      const response = await beginUpload(port, cookie);
      if (response.status !== 201) return response;
      begun.push(String(response.headers.location));
      return undefined;
    });
    assertFailure(again, 507, /\(STATE_DIR\) is full/);
    assert.equal((await send(port, '/file/new', { method: 'PUT', headers: { cookie }, body: 'newer' })).status, 200);
    assert.equal((await send(port, '/file/new', { headers: { cookie } })).body.toString(), 'newer');
    assert.equal(
      (await send(port, '/delete/new?permanent=true', { ...AS_JOB, headers: { ...AS_JOB.headers, cookie } })).status,
      200,
    );
    await rm(filler);
    assert.equal((await beginUpload(port, cookie)).status, 201);
    for (const url of begun) {
      assert.equal((await send(port, url, { method: 'HEAD', headers: { ...TUS, cookie } })).status, 200);
    }
  });

  it('ends as unavailable at its first start, which needs space for the signing key', async (t) => {
    const folder = await temporaryFolder(t);
    const state = join(folder, 'state');
    const reason = await mountTmpfs(t, state, 'size=4k,nr_inodes=1');
    if (reason) return t.skip(reason);
    const { code, stderr } = await runHoldall(t, { settings: { DISK_ROOT: join(folder, 'root'), STATE_DIR: state } });
    assert.equal(code, 69);
    assert.match(stderr, /The disk of STATE_DIR .* is full/);
  });
});

const TUS = { 'tus-resumable': '1.0.0' };

/** Begins an upload, which adds a row to the database. */
const beginUpload = (port: number, cookie: string) =>
  send(port, '/-/uploads', {
    method: 'POST',
    headers: {
      ...TUS,
      cookie,
      'upload-length': '1',
      'upload-metadata': `path ${btoa(`${'long/'.repeat(30)}${Math.random()}`)}`,
    },
  });

/** Starts a service again whose `STATE_DIR` has become full. Returns the reason if the machine does not permit that. */
async function withFullState(t: TestContext): Promise<(ServiceInProcess & { filler: string }) | string> {
  const folder = await temporaryFolder(t);
  const state = join(folder, 'state');
  const reason = await mountExt4(t, { image: `${state}.img`, folder: state });
  if (reason) return reason;
  const access = join(folder, 'access.json');
  await writeFile(
    access,
    JSON.stringify({
      people: { ann: { password: hashForTest(PASSWORD) } },
      grants: [{ folder: '/', to: { person: 'ann' }, rights: ['read', 'write', 'manage'] }],
    }),
  );
  const start = { root: join(folder, 'root'), settings: { STATE_DIR: state, ACCESS_FILE: access, RATE_LIMIT: '0' } };
  const before = await startInProcess(t, start);
  const cookie = await signIn(before.port);
  assert.equal((await send(before.port, '/file/a/1', { method: 'PUT', headers: { cookie }, body: 'a' })).status, 201);
  await before.stop();
  const filler = join(state, 'filler');
  await fill(filler);
  return { ...(await startInProcess(t, start)), filler };
}

async function signIn(port: number): Promise<string> {
  const response = await postJson(port, '/-/session', { name: 'ann', password: PASSWORD });
  assert.equal(response.status, 200, response.body.toString());
  return response.headers['set-cookie']?.[0]?.split(';')[0] ?? assert.fail('No cookie came.');
}

function untilDatabase(port: number, state: string): Promise<unknown> {
  return until(
    `the database is ${state}`,
    async () => jsonOf(await send(port, '/-/health/ready'))['database'] === state,
  );
}
