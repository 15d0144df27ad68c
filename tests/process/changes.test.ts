import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { atEnd, type Holdall, startHoldall } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { send, upload } from '../http/client.ts';
import { untilAllServe } from './serving.ts';
import { WITHOUT_POLLS } from './without-polls.ts';

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

it('The changes of a service with two workers arrive once in the streams of both, by messages between them, also those of other programs', async (t) => {
  const settings = { WORKERS: '2', WATCH_CHANGES: 'true', ...WITHOUT_POLLS };
  const holdall = await startHoldall(t, { settings });
  await untilAllServe(holdall);
  await until('the folder is watched', async () =>
    (await send(holdall.port, '/-/changes?since=oldest')).body.includes('"type":"resync"'),
  );
  const streams = await openStreams(t, holdall, 4);
  await writeFile(join(holdall.root, 'theirs'), 'text');
  await until('all streams have the change', () =>
    streams.every(({ text }) => text.includes('"type":"file.written","path":"theirs"')),
  );
  for (let round = 0; round < 4; round++) {
    await upload(holdall.port, `ours ${round}`, 'text');
    await until('all streams have the change', () => streams.every(({ text }) => text.includes(`"ours ${round}"`)));
  }
  await writeFile(join(holdall.root, 'last'), 'text');
  await until('all streams have the last change', () => streams.every(({ text }) => text.includes('"path":"last"')));
  for (const { text } of streams) {
    for (const path of ['theirs', 'ours 0', 'ours 3']) assert.equal(text.split(`"path":"${path}"`).length, 2, path);
  }
});
