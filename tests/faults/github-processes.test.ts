import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { atEnd, type Holdall, startHoldall } from '../../testing/holdall.ts';
import { type HostedRepository, hostRepository } from '../../testing/servers/hosted-repository.ts';
import { settingsOfRepository } from '../../testing/servers/settings.ts';
import { until } from '../../testing/until.ts';
import { IN_FULL_FORM_ONLY, isFullForm } from '../full-forms.ts';
import { assertSuccess, begin, postJson, send, upload } from '../http/client.ts';
import { openUpload } from '../process/transfers.ts';
import type { Need } from '../runner/needs.ts';
import { block, MIB } from './pattern.ts';

export const needs: readonly Need[] = ['git'];

describe('Several processes that write to one branch', () => {
  it('lose no concurrent write of two services with two workers each', IN_FULL_FORM_ONLY, async (t) => {
    const { hosted, start } = await setUp(t, { 'README.md': 'text' });
    const services = await Promise.all([start({ WORKERS: '2' }), start({ WORKERS: '2' })]);
    const texts = new Map(Array.from({ length: 30 }, (_, index) => [`f/${index}`, `The text of ${index}.`]));
    await Promise.all([...texts].map(([path, text], index) => upload(portOf(services, index), path, text)));

    for (const [path, text] of texts) assert.equal(await hosted.repository.git('show', `main:${path}`), text);
    for (const { port } of services) {
      await until('the service lists all files', async () => (await countFiles(port)) === 30);
    }
  });

  // In one process: tests/stores/github-races.test.ts.
  if (isFullForm) {
    it('complete one of several copies to one destination and return 409 for the others', async (t) => {
      const { hosted, start } = await setUp(t, { 'README.md': 'text' });
      const services = await Promise.all([start(), start()]);
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, async (_, index) => {
          const body = { source: 'README.md', destination: 'copy', is_folder: false };
          return (await postJson(portOf(services, index), '/copy', body)).status;
        }),
      );
      assert.deepEqual(
        outcomes.toSorted((left, right) => left - right),
        [200, ...Array.from({ length: 9 }, () => 409)],
      );
      assert.equal(await hosted.repository.git('show', 'main:copy'), 'text');
    });
  }
});

describe('kill -9 of a service that stores files in a repository', () => {
  if (isFullForm) {
    it('keeps only the old file when it interrupts an upload', async (t) => {
      const { hosted, start } = await setUp(t, { f: 'old' });
      const { port, kill } = await start();
      const opened = await openUpload(port, 'f');
      for (let sent = 0; sent < 5; sent++) await opened.send(block(sent));
      await kill();
      opened.disconnect();
      const again = await start();
      assert.equal((await send(again.port, '/file/f')).body.toString(), 'old');
      assert.equal(await hosted.repository.git('rev-list', '--count', 'main'), '1');
      await upload(again.port, 'f', Buffer.alloc(MIB, 'new'));
      assert.equal(await hosted.repository.git('rev-list', '--count', 'main'), '2');
    });
  }

  it('leaves a folder in place before the branch update, and a retried request completes', async (t) => {
    const { hosted, start } = await setUp(
      t,
      Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`a/${index}`, 'x'])),
    );
    const held = Promise.withResolvers<void>();
    let isReached = false;
    hosted.host.intercept(async ({ method }) => {
      if (method !== 'PATCH') return undefined;
      isReached = true;
      await held.promise;
      return 'cut';
    });
    const { port, kill } = await start();
    const move = { source: 'a', destination: 'b', is_folder: true };
    const exchange = begin(port, '/move', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(move),
    });
    exchange.response.catch(() => {});
    await until('the branch update arrives', () => isReached);
    await kill();
    held.resolve();
    exchange.disconnect();
    assert.equal(await hosted.repository.git('rev-list', '--count', 'main'), '1');

    hosted.host.intercept(undefined);
    const again = await start();
    assertSuccess(await postJson(again.port, '/move', move), { message: 'Item moved successfully' });
    assert.equal((await hosted.repository.git('ls-tree', '-r', '--name-only', 'main', 'b/')).split('\n').length, 50);
    assert.equal(await hosted.repository.git('ls-tree', 'main', 'a'), '');
  });
});

interface Stage {
  readonly hosted: HostedRepository;
  start(settings?: Readonly<Record<string, string>>): Promise<Holdall>;
}

async function setUp(t: TestContext, files: Record<string, string>): Promise<Stage> {
  const hosted = await hostRepository({ files });
  atEnd(t, () => hosted.remove());
  return {
    hosted,
    start: (settings) => startHoldall(t, { settings: { ...settingsOfRepository(hosted), ...settings } }),
  };
}

const portOf = (services: readonly Holdall[], index: number) => services[index % services.length]?.port ?? 0;

/** Returns the number of files in /f/ that the service lists; 0 while its view of the branch is older than the folder. */
async function countFiles(port: number): Promise<number> {
  const response = await send(port, '/f/');
  if (response.status === 404) return 0;
  assert.equal(response.status, 200, response.body.toString());
  return (JSON.parse(response.body.toString()) as { entries: unknown[] }).entries.length;
}
