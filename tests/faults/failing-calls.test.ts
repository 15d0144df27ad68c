import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { type Holdall, isError, type Owner, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { assertSuccess, jsonOf, postJson, send, upload } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['strace'];

const MOVE = { source: 'a', destination: 'b', is_folder: false };
const TUS = { 'tus-resumable': '1.0.0' };

describe('A system call that fails', () => {
  it('fails no restore or permanent delete when it removes the record of the item', async (t) => {
    const holdall = await startHoldall(t);
    const { port, root } = holdall;
    const idOf = async (path: string) => {
      await send(port, `/delete/${path}`, { method: 'DELETE' });
      const { entries } = jsonOf(await send(port, '/-/trash')) as { entries: { id: string; path: string }[] };
      return entries.find((entry) => entry.path === path)?.id ?? assert.fail(path);
    };
    for (const path of ['restored', 'purged']) await upload(port, path, path);
    const [restored, purged] = [await idOf('restored'), await idOf('purged')];
    const records = [restored, purged].map((id) => join(root, '.holdall/trash', `${id}.json`));
    const end = await inject(t, holdall, { calls: 'unlink,unlinkat', paths: records, fault: 'error=EIO' });
    const response = await postJson(port, `/-/trash/${restored}/restore`, {});
    assertSuccess(response, { message: 'Item restored successfully', path: 'restored' });
    assert.equal((await send(port, `/-/trash/${purged}`, { method: 'DELETE' })).status, 200);
    await end();
    assert.equal((await send(port, '/file/restored')).body.toString(), 'restored');
    assert.equal((jsonOf(await send(port, '/-/trash')) as { entries: unknown[] }).entries.length, 0);
    const undone = await postJson(port, '/-/undo', { change: jsonOf(response)['change'] });
    assert.equal(undone.status, 200, undone.body.toString());
  });

  it('leaves a file at its old path when a move fails to remove the old name', async (t) => {
    const holdall = await startHoldall(t);
    const { port, root } = holdall;
    await upload(port, 'a', 'content');
    const end = await inject(t, holdall, { calls: 'rename', fault: 'error=EIO' });
    const failed = await postJson(port, '/move', MOVE);
    await end();
    assert.deepEqual([failed.status, jsonOf(failed)['code']], [503, 'disk-error']);
    assert.deepEqual(await filesIn(root), ['a']);
    assert.equal((await postJson(port, '/move', MOVE)).status, 200);
    assert.deepEqual(await filesIn(root), ['b']);
    assert.equal(await readFile(join(root, 'b'), 'utf8'), 'content');
  });

  it('is not reported as a missing file when the file system is read-only', async (t) => {
    const holdall = await startHoldall(t);
    const { port, root } = holdall;
    await upload(port, 'f/a', 'content');
    // The folders of the trash and of unfinished uploads don't exist yet.
    const end = await inject(t, holdall, { calls: 'mkdir', fault: 'error=EROFS' });
    const metadata = `path ${Buffer.from('new').toString('base64')}`;
    const responses = [
      await send(port, '/delete/f/a', { method: 'DELETE' }),
      await send(port, '/delete_folder/f', { method: 'DELETE' }),
      await send(port, '/-/uploads', {
        method: 'POST',
        headers: { ...TUS, 'upload-length': '4', 'upload-metadata': metadata },
      }),
    ];
    await end();
    assert.deepEqual(
      responses.map((response) => [response.status, jsonOf(response)['code']]),
      responses.map(() => [403, 'denied']),
    );
    assert.deepEqual(await filesIn(root), ['f']);
  });

  it('is reported as a full disk when the quota is exhausted', async (t) => {
    const holdall = await startHoldall(t);
    const { port, root } = holdall;
    await writeFile(join(root, 'a'), 'old');
    const end = await inject(t, holdall, { calls: 'fsync,fdatasync', fault: 'error=EDQUOT' });
    const response = await send(port, '/file/a', { method: 'PUT', body: 'new' });
    await end();
    assert.deepEqual([response.status, jsonOf(response)['code']], [507, 'store-full'], response.body.toString());
    assert.equal(await readFile(join(root, 'a'), 'utf8'), 'old');
    assert.deepEqual(
      holdall.log.filter((line) => isError(line) && Number(line['status']) !== 507),
      [],
    );
  });
});

describe('A service that is killed when the last part of an upload has got its name', {
  concurrency: CONCURRENT_TESTS,
}, () => {
  const conditions: readonly Readonly<Record<string, string>>[] = [{ 'if-none-match': '*' }, {}];
  for (const condition of conditions) {
    it(`reports it as complete, ${JSON.stringify(condition)}`, async (t) => {
      const killed = await startHoldall(t);
      const { root } = killed;
      const metadata = `path ${Buffer.from('n').toString('base64')}`;
      const headers = { ...TUS, 'upload-length': '4', 'upload-metadata': metadata, ...condition };
      const begun = await send(killed.port, '/-/uploads', { method: 'POST', headers });
      const url = begun.headers.location ?? assert.fail(begun.body.toString());
      // The second step of giving the file its name: renaming the old one away, or removing it.
      const own = join(root, '.holdall/uploads', url.slice(url.lastIndexOf('/') + 1));
      const end = await inject(t, killed, { calls: 'rename,unlink,unlinkat', paths: [own], fault: 'signal=KILL' });
      const part = { ...TUS, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' };
      const sent = send(killed.port, url, { method: 'PATCH', headers: part, body: 'abcd' });
      const rejected = assert.rejects(sent);
      await until('the service is killed', () => isKilled(killed.pid));
      // Before its tracer has ended, its connections can stay open.
      await end('SIGKILL');
      await Promise.all([rejected, killed.ended]);
      assert.equal((await stat(join(root, 'n'))).nlink, 2, 'it has both names');

      const { port } = await startHoldall(t, { root });
      const state = await send(port, url, { method: 'HEAD', headers: TUS });
      assert.deepEqual([state.status, state.headers['upload-offset']], [200, '4']);
      assert.equal(await readFile(join(root, 'n'), 'utf8'), 'abcd');
      assert.equal((await stat(join(root, 'n'))).nlink, 1);
      assert.deepEqual((jsonOf(await send(port, '/-/versions/n')) as { versions: unknown[] }).versions, []);
      const { changes } = jsonOf(await send(port, '/-/changes?since=oldest')) as { changes: { type: string }[] };
      assert.equal(changes.filter(({ type }) => type === 'file.replaced').length, 0);
    });
  }
});

interface Injection {
  /** The system calls, separated by commas. */
  readonly calls: string;
  /** Only calls with one of these paths. Default: all. */
  readonly paths?: readonly string[];
  /** What strace injects into each of them. */
  readonly fault: string;
}

/** Makes system calls of a service fail, until the returned function is called. */
async function inject(
  t: Owner,
  { pid }: Holdall,
  { calls, paths = [], fault }: Injection,
): Promise<(signal?: NodeJS.Signals) => Promise<void>> {
  const output = join(await temporaryFolder(t), 'calls');
  const limits = paths.flatMap((path) => ['-P', path]);
  const args = ['-f', '-qq', '-o', output, '-p', String(pid), ...limits, '-e', `trace=${calls}`];
  const tracer = spawn('strace', [...args, '-e', `inject=${calls}:${fault}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(tracer, 'exit');
  await until('strace traces all threads', () => isTraced(pid));
  return async (signal = 'SIGINT') => {
    tracer.kill(signal);
    await ended;
  };
}

/** Returns whether another process traces all threads of a process. */
function isTraced(pid: number): boolean {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.every((id) => /^TracerPid:\t[1-9]/m.test(readFileSync(`/proc/${pid}/task/${id}/status`, 'latin1')));
}

/** Returns whether the main thread of a process has ended. */
function isKilled(pid: number): boolean {
  try {
    return /^State:\t[XZ]/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'));
  } catch {
    return true;
  }
}

const filesIn = async (root: string) => (await readdir(root)).filter((name) => name !== '.holdall').toSorted();
