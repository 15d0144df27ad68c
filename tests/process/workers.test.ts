import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { EXIT_CODES } from '../../src/system.ts';
import { atEnd, type Holdall, isRunning, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { begin, postJson, send, upload, within } from '../http/client.ts';
import { haveResponded, untilAllServe } from './serving.ts';
import { temporaryFilesOf } from './temporary-files.ts';
import { WITHOUT_POLLS } from './without-polls.ts';

const EVENTS = { accept: 'text/event-stream' };

const skip = process.platform === 'linux' ? false : 'the workers of a process are found by /proc, which is of Linux';

describe('Two workers', { skip }, () => {
  it('share a signing key and one database, ignore signals, are replaced, and exit with the parent process', async (t) => {
    const settings = { WORKERS: '2', STATE_DIR: await temporaryFolder(t), WATCH_CHANGES: 'true', ...WITHOUT_POLLS };
    const holdall = await startHoldall(t, { settings });
    const { port, root } = holdall;
    assert.equal(holdall.ready['workers'], 2);
    const [killed = Number.NaN, survivor = Number.NaN] = await untilAllServe(holdall);
    await upload(port, 'kept', 'kept');
    await upload(port, 'large', Buffer.alloc(6 * 1024 * 1024, 'large'));

    await t.test(
      'changes arrive once in the streams of both, by messages between them, also those of other programs',
      async (test) => {
        await until('the folder is watched', async () =>
          (await send(port, '/-/changes?since=oldest')).body.includes('"type":"resync"'),
        );
        const streams = await openStreams(test, holdall, 4);
        await writeFile(join(root, 'theirs'), 'text');
        await until('all streams have the change', () =>
          streams.every(({ text }) => text.includes('"type":"file.written","path":"theirs"')),
        );
        for (let round = 0; round < 4; round++) {
          await upload(port, `ours ${round}`, 'text');
          await until('all streams have the change', () =>
            streams.every(({ text }) => text.includes(`"ours ${round}"`)),
          );
        }
        await writeFile(join(root, 'last'), 'text');
        await until('all streams have the last change', () =>
          streams.every(({ text }) => text.includes('"path":"last"')),
        );
        for (const { text } of streams) {
          for (const path of ['theirs', 'ours 0', 'ours 3'])
            assert.equal(text.split(`"path":"${path}"`).length, 2, path);
        }
      },
    );

    await t.test('a URL that one worker signed is valid for the other worker', async () => {
      const { headers } = await send(port, '/file/large');
      const signed = new URL(headers.location ?? '', 'http://127.0.0.1/file/large');
      const range = { range: 'bytes=0-4' };
      const seen = holdall.log.length;
      await until('each worker has accepted the URL', async () => {
        const response = await send(port, signed.pathname + signed.search, { headers: range });
        assert.deepEqual([response.status, response.body.toString()], [206, 'large']);
        return haveResponded(holdall.log.slice(seen), holdall.serving());
      });
    });

    await t.test('they ignore SIGUSR1 and SIGUSR2, and survive SIGHUP', async () => {
      const serving = holdall.serving();
      for (const pid of [holdall.pid, ...serving]) {
        for (const name of ['SIGUSR1', 'SIGUSR2', 'SIGHUP'] as const) process.kill(pid, name);
      }
      // The signals are delivered before the responses, because they were sent before the requests.
      for (let count = 0; count < 4; count++) assert.equal((await send(port, '/-/health/ready')).status, 200);
      assert.deepEqual(new Set(holdall.serving()), new Set(serving));
      assert.doesNotMatch(holdall.printed(), /Debugger listening/);
    });

    await t.test('a replacement stores nothing in a folder that replaces DISK_ROOT', async () => {
      await rename(root, `${root}.away`);
      atEnd(t, () => rm(`${root}.away`, { recursive: true, force: true }));
      await mkdir(root);
      process.kill(killed, 'SIGKILL');
      await until('the loss is in the log', () =>
        holdall.log.some(({ msg, worker }) => msg === 'Worker died; starting a replacement' && worker === killed),
      );
      await until('a replacement is refused', () => holdall.log.some(({ code }) => code === EXIT_CODES.unavailable));
      assert.equal((await send(port, '/file/new', { method: 'PUT', body: 'new' })).status, 503);
      assert.deepEqual(await readdir(root), []);
      await rmdir(root);
      await rename(`${root}.away`, root);
    });

    await t.test('the service replaces a killed worker, and continues', async () => {
      const workers = await untilAllServe(holdall);
      assert.ok(workers.includes(survivor) && !workers.includes(killed));
      assert.equal((await send(port, '/file/kept')).body.toString(), 'kept');
      await until('the files of the killed process are removed', async () => {
        const { owners, files } = await temporaryFilesOf(root);
        return files.length === 0 && new Set(owners).symmetricDifference(new Set(workers)).size === 0;
      });
    });

    await t.test(
      'all workers exit without a stack trace when the parent process is killed, also one that starts',
      async () => {
        process.kill(survivor, 'SIGKILL');
        const [other] = holdall.serving().filter((worker) => worker !== survivor);
        const started = await until('a replacement has started', () =>
          holdall.serving().find((worker) => worker !== survivor && worker !== other),
        );
        process.kill(started, 'SIGSTOP');
        const workers = [started, other ?? Number.NaN];
        // Without their parent process, only the test can end workers that still run.
        for (const worker of workers) atEnd(t, () => isRunning(worker) && process.kill(worker, 'SIGKILL'));
        holdall.signal('SIGKILL');
        await until('the parent process has ended', () => !isRunning(holdall.pid));
        process.kill(started, 'SIGCONT');
        await holdall.ended;
        assert.doesNotMatch(holdall.printed(), /EPIPE/);
        await until('the workers have ended', () => !workers.some(isRunning));
        await assert.rejects(send(port, '/-/health/live'), { code: 'ECONNREFUSED' });
      },
    );

    await t.test('another service can then use the port and the folder', async () => {
      const next = await startInProcess(t, { root, settings: { PORT: String(port) } });
      assert.equal((await send(next.port, '/file/kept')).body.toString(), 'kept');
      assert.equal(await readFile(join(root, 'kept'), 'utf8'), 'kept');
    });
  });

  it('count requests and wrong passwords together, and close their connections when they are killed', async (t) => {
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
    const { port } = holdall;
    /** As `untilAllServe`, by requests that are not counted. */
    const untilBothLive = () =>
      until('both workers serve', async () => {
        await send(port, '/-/health/live');
        const serving = holdall.serving();
        return serving.length === 2 && haveResponded(holdall.log, serving) ? serving : undefined;
      });
    const [killed = Number.NaN] = await untilBothLive();
    const from = (address: string) => ({ host: 'localhost', 'x-forwarded-for': address });

    await t.test('they count together, also after one of them was killed', async () => {
      const guess = (password: string) => postJson(port, '/-/session', { name: 'ann', password }, from('192.0.2.1'));
      const statusesOf = async (sent: readonly Promise<{ status: number }>[]) =>
        Object.entries(Object.groupBy(await Promise.all(sent), ({ status }) => String(status))).map(
          ([status, responses = []]) => [Number(status), responses.length],
        );
      const guesses = Array.from({ length: 16 }, (_, index) => guess(`wrong ${index}`));
      assert.deepEqual(await statusesOf(guesses), [
        [401, 10],
        [429, 6],
      ]);
      const requests = Array.from({ length: 40 }, () => send(port, '/', { headers: from('192.0.2.2') }));
      assert.deepEqual(await statusesOf(requests), [
        [200, 25],
        [429, 15],
      ]);

      process.kill(killed, 'SIGKILL');
      await until(
        'another worker has started',
        () => holdall.serving().length === 2 && !holdall.serving().includes(killed),
      );
      assert.deepEqual(await statusesOf([guess('right'), guess('right'), guess('right')]), [[429, 3]]);
    });

    await t.test('the service ends with 78 when the signing key is damaged when they are killed', async () => {
      await untilBothLive();
      const headers = { ...EVENTS, ...from('192.0.2.3') };
      const streams = await Promise.all(
        Array.from({ length: 4 }, () => begin(port, '/-/changes', { headers, agent: new Agent() }).response),
      );
      for (const stream of streams) assert.equal(stream.headers['content-type'], 'text/event-stream');
      // The service does not end the responses.
      const aborted = streams.map((stream) => assert.rejects(once(stream.resume(), 'end'), { code: 'ECONNRESET' }));
      await writeFile(join(holdall.root, '.holdall/signing-key'), 'damaged');
      for (const worker of holdall.serving()) process.kill(worker, 'SIGKILL');
      await within('all connections are closed', Promise.all(aborted));
      assert.equal((await holdall.ended).code, 78);
      assert.match(
        holdall.printed(),
        /does not contain a key of 32 bytes\. Delete it, and Holdall creates a new key\.\s/,
      );
      assert.ok(holdall.log.some(({ msg }) => msg === 'Workers fail at their start; the service ends'));
    });
  });
});

/** Opens streams of changes. Consecutive connections are distributed to all workers in turn. */
async function openStreams(t: TestContext, { port }: Holdall, count: number): Promise<readonly { text: string }[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const request = get({ port, path: '/-/changes', headers: { accept: 'text/event-stream' }, agent: false });
      atEnd(t, () => request.destroy());
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      request.on('response', resolve).on('error', reject);
      const response = await promise;
      const stream = { text: '' };
      response.setEncoding('utf8').on('data', (text: string) => (stream.text += text));
      response.on('error', () => {});
      await until('the stream has begun', () => stream.text.includes('id:'));
      return stream;
    }),
  );
}
