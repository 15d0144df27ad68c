import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { EXIT_CODES } from '../../src/system.ts';
import { atEnd, isRunning, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { until } from '../../testing/until.ts';
import { isFullForm } from '../full-forms.ts';
import { assertSuccess, begin, postJson, send, upload, within } from '../http/client.ts';
import { haveResponded, untilAllServe } from './serving.ts';
import { temporaryFilesOf } from './temporary-files.ts';

const EVENTS = { accept: 'text/event-stream' };

const skip = process.platform === 'linux' ? false : 'the workers of a process are found by /proc, which is of Linux';

describe('Two workers', { skip }, () => {
  it('close their connections when they are killed, also those of responses in progress', async (t) => {
    const { port, serving, ...holdall } = await startHoldall(t, { settings: { WORKERS: '2' } });
    await untilAllServe({ port, serving, ...holdall });
    const streams = await Promise.all(
      Array.from({ length: 4 }, () => begin(port, '/-/changes', { headers: EVENTS, agent: new Agent() }).response),
    );
    for (const { headers } of streams) assert.equal(headers['content-type'], 'text/event-stream');
    // The service does not end the responses.
    const aborted = streams.map((stream) => assert.rejects(once(stream.resume(), 'end'), { code: 'ECONNRESET' }));
    for (const worker of serving()) process.kill(worker, 'SIGKILL');
    await within('all connections are closed', Promise.all(aborted));
  });

  it('store nothing in a folder that replaces DISK_ROOT, also after one was killed', async (t) => {
    const holdall = await startHoldall(t, { settings: { WORKERS: '2', STATE_DIR: await temporaryFolder(t) } });
    const { port, root } = holdall;
    await upload(port, 'kept', 'kept');
    const [killed = Number.NaN] = await untilAllServe(holdall);
    await rename(root, `${root}.away`);
    atEnd(t, () => rm(`${root}.away`, { recursive: true, force: true }));
    await mkdir(root);
    process.kill(killed, 'SIGKILL');
    await until('a replacement is refused', () => holdall.log.some(({ code }) => code === EXIT_CODES.unavailable));
    assert.equal((await send(port, '/file/new', { method: 'PUT', body: 'new' })).status, 503);
    assert.deepEqual(await readdir(root), []);
    await rmdir(root);
    await rename(`${root}.away`, root);
    await untilAllServe(holdall);
    assert.equal((await send(port, '/file/kept')).body.toString(), 'kept');
  });

  it('share a signing key, replace a killed worker and exit with the parent process', async (t) => {
    const holdall = await startHoldall(t, { settings: { WORKERS: '2' } });
    const [killed = Number.NaN, survivor] = await untilAllServe(holdall);
    const large = Buffer.alloc(6 * 1024 * 1024, 'large');
    await upload(holdall.port, 'large', large);

    await t.test('a URL that one worker signed is valid for the other worker', async () => {
      const { headers } = await send(holdall.port, '/file/large');
      const signed = new URL(headers.location ?? '', 'http://127.0.0.1/file/large');
      const range = { range: 'bytes=0-4' };
      const seen = holdall.log.length;
      await until('each worker has accepted the URL', async () => {
        const response = await send(holdall.port, signed.pathname + signed.search, { headers: range });
        assert.deepEqual([response.status, response.body.toString()], [206, 'large']);
        return haveResponded(holdall.log.slice(seen), holdall.serving());
      });
    });

    await t.test('the service replaces a killed worker and continues', async () => {
      await upload(holdall.port, 'before', 'kept');
      process.kill(killed, 'SIGKILL');
      await until('the loss is in the log', () =>
        holdall.log.some(({ msg, worker }) => msg === 'Worker died; starting a replacement' && worker === killed),
      );
      // One process is left, so this one responds.
      assertSuccess(await send(holdall.port, '/-/health/ready'), {
        message: 'The service is ready.',
        database: 'available',
      });
      assert.equal((await send(holdall.port, '/file/before')).body.toString(), 'kept');

      const workers = await untilAllServe(holdall);
      assert.ok(survivor !== undefined && workers.includes(survivor) && !workers.includes(killed));
      const { owners, files } = await temporaryFilesOf(holdall.root);
      assert.deepEqual(
        [new Set(owners), files],
        [new Set(workers), []],
        'The files of the killed process are removed.',
      );
    });

    await t.test('both workers exit when the parent process is killed, and the port is free', async () => {
      const workers = holdall.serving();
      // Without their parent process, only the test can end workers that still run.
      for (const worker of workers) atEnd(t, () => isRunning(worker) && process.kill(worker, 'SIGKILL'));
      holdall.signal('SIGKILL');
      await until('the workers have ended', () => !workers.some(isRunning));
      await assert.rejects(send(holdall.port, '/-/health/live'), { code: 'ECONNREFUSED' });
      const { port, root } = await startHoldall(t, {
        root: holdall.root,
        settings: { WORKERS: isFullForm ? '2' : '1', PORT: String(holdall.port) },
      });
      assert.equal((await send(port, '/file/before')).body.toString(), 'kept');
      assert.equal(await readFile(join(root, 'before'), 'utf8'), 'kept');
    });
  });

  it('end without a stack trace if the parent process dies while they start', async (t) => {
    const holdall = await startHoldall(t, { settings: { WORKERS: '2' } });
    const [killed = Number.NaN, other] = await untilAllServe(holdall);
    process.kill(killed, 'SIGKILL');
    const started = await until('a replacement has started', () =>
      holdall.serving().find((worker) => worker !== killed && worker !== other),
    );
    process.kill(started, 'SIGSTOP');
    atEnd(t, () => isRunning(started) && process.kill(started, 'SIGKILL'));
    holdall.signal('SIGKILL');
    await until('the parent process has ended', () => !isRunning(holdall.pid));
    process.kill(started, 'SIGCONT');
    await within('all output has arrived', holdall.ended);
    assert.doesNotMatch(holdall.printed(), /EPIPE/);
  });

  it('count requests and wrong passwords together, also after one worker was killed', async (t) => {
    const accessFile = join(await temporaryFolder(t), 'access.json');
    const people = { ann: { password: hashForTest('right') } };
    const grants = [{ folder: '/', to: 'everyone', rights: ['read'] }];
    await writeFile(accessFile, JSON.stringify({ people, grants }));
    const settings = {
      WORKERS: '2',
      ACCESS_FILE: accessFile,
      TRUST_PROXY: 'loopback',
      PUBLIC_URL: 'http://localhost',
      RATE_LIMIT: '25',
    };
    const holdall = await startHoldall(t, { settings });
    const workers = await until('both workers serve', async () => {
      await send(holdall.port, '/-/health/live');
      const serving = holdall.serving();
      return serving.length === 2 && haveResponded(holdall.log, serving) ? serving : undefined;
    });
    const from = (address: string) => ({ host: 'localhost', 'x-forwarded-for': address });
    const guess = (password: string) =>
      postJson(holdall.port, '/-/session', { name: 'ann', password }, from('192.0.2.1'));
    const statusesOf = async (sent: readonly Promise<{ status: number }>[]) =>
      Object.entries(Object.groupBy(await Promise.all(sent), ({ status }) => String(status))).map(
        ([status, responses = []]) => [Number(status), responses.length],
      );

    const guesses = Array.from({ length: 16 }, (_, index) => guess(`wrong ${index}`));
    assert.deepEqual(await statusesOf(guesses), [
      [401, 10],
      [429, 6],
    ]);
    const requests = Array.from({ length: 40 }, () => send(holdall.port, '/', { headers: from('192.0.2.2') }));
    assert.deepEqual(await statusesOf(requests), [
      [200, 25],
      [429, 15],
    ]);

    const [killed = Number.NaN] = workers;
    process.kill(killed, 'SIGKILL');
    await until(
      'another worker has started',
      () => holdall.serving().length === 2 && !holdall.serving().includes(killed),
    );
    assert.deepEqual(await statusesOf([guess('right'), guess('right'), guess('right')]), [[429, 3]]);
  });
});

describe('A service', { skip }, () => {
  for (const WORKERS of ['1', '2']) {
    it(`ignores SIGUSR1 and SIGUSR2, and survives SIGHUP (WORKERS=${WORKERS})`, async (t) => {
      const holdall = await startHoldall(t, { settings: { WORKERS } });
      const serving = WORKERS === '1' ? holdall.serving() : await untilAllServe(holdall);
      for (const pid of new Set([holdall.pid, ...serving])) {
        for (const name of ['SIGUSR1', 'SIGUSR2', 'SIGHUP'] as const) process.kill(pid, name);
      }
      // The signals are delivered before the responses, because they were sent before the requests.
      for (let count = 0; count < 4; count++) assert.equal((await send(holdall.port, '/-/health/ready')).status, 200);
      assert.deepEqual(new Set(holdall.serving()), new Set(serving));
      assert.doesNotMatch(holdall.printed(), /Debugger listening/);
    });
  }

  it('ends with 78 when its workers were killed and the signing key is damaged', async (t) => {
    const holdall = await startHoldall(t, { settings: { WORKERS: '2' } });
    await untilAllServe(holdall);
    await writeFile(join(holdall.root, '.holdall/signing-key'), 'damaged');
    for (const worker of holdall.serving()) process.kill(worker, 'SIGKILL');
    assert.equal((await holdall.ended).code, 78);
    assert.match(
      holdall.printed(),
      /does not contain a key of 32 bytes\. Delete it, and Holdall creates a new key\.\s/,
    );
    assert.ok(holdall.log.some(({ msg }) => msg === 'Workers fail at their start; the service ends'));
  });
});
