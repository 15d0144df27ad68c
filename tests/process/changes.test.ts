import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { atEnd, type Holdall, startHoldall } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import { send, upload } from '../http/client.ts';
import { untilAllServe } from './serving.ts';

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

describe('The changes of a service with two workers', () => {
  it('arrive in the streams of both workers within a second', async (t) => {
    const holdall = await startHoldall(t, { settings: { WORKERS: '2' } });
    await untilAllServe(holdall);
    const streams = await openStreams(t, holdall, 4);
    const durations: number[] = [];
    for (let round = 0; round < 5; round++) {
      await upload(holdall.port, `${round}.txt`, 'text');
      const uploaded = performance.now();
      await until('all streams have the change', () => streams.every(({ text }) => text.includes(`"${round}.txt"`)));
      durations.push(performance.now() - uploaded);
    }
    // Without messages between the workers, all rounds except the first would take the time between two polls, at least
    // 1.5 seconds: each begins when the last worker has just polled. On a busy machine, a round can take longer than usual.
    assert.ok(Math.min(...durations.slice(1)) < 1000, durations.join(', '));
  });

  it('include those of other programs once, with WATCH_CHANGES', IN_FULL_FORM_ONLY, async (t) => {
    const holdall = await startHoldall(t, { settings: { WORKERS: '2', WATCH_CHANGES: 'true' } });
    await untilAllServe(holdall);
    await until('the folder is watched', async () =>
      (await send(holdall.port, '/-/changes?since=oldest')).body.includes('"type":"resync"'),
    );
    const streams = await openStreams(t, holdall, 4);
    await writeFile(join(holdall.root, 'theirs'), 'text');
    await until('all streams have the change', () =>
      streams.every(({ text }) => text.includes('"type":"file.written","path":"theirs"')),
    );
    await upload(holdall.port, 'ours', 'text');
    await writeFile(join(holdall.root, 'last'), 'text');
    await until('all streams have the last change', () => streams.every(({ text }) => text.includes('"path":"last"')));
    for (const { text } of streams) {
      assert.equal(text.match(/"path":"theirs"/g)?.length, 1);
      assert.equal(text.match(/"path":"ours"/g)?.length, 1);
    }
  });
});
