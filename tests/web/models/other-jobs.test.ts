import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { followJob } from '../../../web/src/model/changes/other-jobs.ts';
import type { Job } from '../../../web/src/platform/service/jobs.ts';
import type { Changed } from '../../../web/src/platform/service/service.ts';
import { type ChangeSceneOptions, createChangeScene, settle } from './change-scene.ts';
import { createJobScene, jobOf, jobResponse } from './job-service.ts';
import { withoutIsolates } from './languages.ts';

const TRANSFER = { source: 'photos/', destination: 'backup/photos/', overwrite: false };
const RENAME = { source: 'a/photos/', destination: 'a/pictures/', overwrite: false };
const ITEM = { id: 't1', source: 'photos/' };

/** Follows a job until it has this end. Returns its title in the tray and the messages after its end. */
async function follow(
  job: Partial<Job>,
  end: Partial<Job> = { status: 'succeeded', result: {} },
  options: Partial<ChangeSceneOptions> = {},
) {
  const scene = await createChangeScene({ files: { 'photos/cat.txt': 'cat' }, hasTrash: true, ...options });
  const running = Promise.withResolvers<void>();
  const { jobs, sent } = createJobScene({
    responses: { 'GET -/jobs/1': [jobResponse(job), jobResponse({ ...job, ...end })] },
  });
  const held: typeof jobs = {
    ...jobs,
    async follow<Result>(...args: Parameters<typeof jobs.follow>) {
      await running.promise;
      return jobs.follow<Result>(...args);
    },
  };
  const following = followJob(scene.context, held, jobOf(job));
  await settle();
  mock.timers.tick(1_000);
  const title = withoutIsolates(scene.running.value.map((operation) => operation.title).join());
  running.resolve();
  await following;
  return { title, messages: scene.shownTexts(), sent, scene };
}

describe('A job of another page', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  const CASES: readonly [Partial<Job>, string, string][] = [
    [{ kind: 'copy-folder', input: TRANSFER }, 'Copying “photos” to “backup”', '“photos” copied to “backup”'],
    [{ kind: 'move-folder', input: TRANSFER }, 'Moving “photos” to “backup”', '“photos” moved to “backup”'],
    [{ kind: 'rename-folder', input: RENAME }, 'Renaming “photos”', '“photos” renamed to “pictures”'],
    [
      { kind: 'delete-folder', input: { source: 'photos/', permanent: false } },
      'Moving “photos” to trash',
      '“photos” moved to trash',
    ],
    [{ kind: 'delete-folder', input: { source: 'photos/', permanent: true } }, 'Deleting “photos”', '“photos” deleted'],
    [{ kind: 'delete-from-trash', input: ITEM }, 'Deleting “photos”', '“photos” deleted'],
    [
      { kind: 'restore-from-trash', input: { ...ITEM, destination: 'photos/', rename: true } },
      'Restoring “photos”',
      '“photos” restored',
    ],
  ];

  it('appears in the tray with its title, and its end in a message', async () => {
    for (const [job, title, message] of CASES) {
      const shown = await follow(job);
      assert.deepEqual([shown.title, shown.messages], [title, [message]], String(job.kind));
    }
    const emptied = await follow(
      { kind: 'empty-trash', input: { folder: '' } },
      { status: 'succeeded', result: { removed: 3 } },
    );
    assert.deepEqual(
      [emptied.title, emptied.messages],
      ['Emptying the trash', ['Trash emptied. 3 items deleted permanently.']],
    );
    const renamed = await follow(
      { kind: 'restore-from-trash', input: { ...ITEM, destination: 'photos/', rename: true } },
      { status: 'succeeded', result: { path: 'photos (2)/' } },
    );
    assert.deepEqual(renamed.messages, ['“photos” restored as “photos (2)” because the name was taken']);
  });

  it('shows the reason of its failure', async () => {
    const failure = { code: 'store-full', error: 'The disk is full.' };
    const { messages } = await follow({ input: TRANSFER }, { status: 'failed', failure });
    assert.deepEqual(messages, [
      'Couldn’t copy “photos” The storage is full. Delete files permanently or empty the trash, then try again.',
    ]);
  });

  it('names the user who holds the lock that made it fail, and until when', async () => {
    const lock = { path: 'photos/a.jpg', user: 'ben', expiresAt: '2026-11-27T09:30:00.000Z' };
    const failure = { code: 'locked', error: 'Locked.', lock };
    const job = { kind: 'move-folder', input: TRANSFER };
    const {
      messages: [message = ''],
    } = await follow(job, { status: 'failed', failure });
    assert.match(message, /^Couldn’t move “photos” “a\.jpg” is locked by ben until .*30.*\. /);
  });

  it('shows what its cancellation left', async () => {
    const { messages } = await follow({ kind: 'move-folder', input: TRANSFER }, { status: 'cancelled' });
    assert.deepEqual(messages, [
      'Move cancelled. 0 of 1 item moved. Only part of “photos” was moved. Move it again to finish.',
    ]);
  });

  it('updates the folder that it changed', async () => {
    const { scene } = await follow(
      { kind: 'delete-folder', input: { source: 'photos/', permanent: true } },
      undefined,
      {
        override: ({ list }, files) => ({
          list(folder) {
            files.clear();
            return list(folder);
          },
        }),
      },
    );
    await settle();
    assert.deepEqual(scene.shown(), []);
  });

  it('is ignored if the page does not know its kind', async () => {
    const { title, messages, sent } = await follow({ kind: 'expire-trash', input: {} });
    assert.deepEqual([title, messages, sent], ['', [], []]);
  });
});

describe('An operation in the tray', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('needs the page except while all of its unfinished items are jobs', async () => {
    const started = new Map<string, { onDetached: (isDetached: boolean) => void; end: () => void }>();
    const scene = await createChangeScene({
      files: { 'photos/cat.txt': 'cat', 'notes/dog.txt': 'dog', 'to/': '' },
      override: () => ({
        transfer(_kind, source, _destination, { onDetached = () => {}, signal } = {}) {
          const { promise, resolve, reject } = Promise.withResolvers<Changed>();
          started.set(source, { onDetached, end: () => resolve({}) });
          signal?.addEventListener('abort', () => reject(signal.reason));
          return promise;
        },
      }),
    });
    const copying = scene.transfer('copy', ['photos/', 'notes/'], 'to/');
    await settle();
    mock.timers.tick(1_000);
    const [operation] = scene.running.value;
    assert.equal(operation?.needsPage.value, true);
    started.get('photos/')?.onDetached(true);
    assert.equal(operation.needsPage.value, true);
    started.get('notes/')?.end();
    await settle();
    assert.equal(operation.needsPage.value, false);
    started.get('photos/')?.onDetached(false);
    assert.equal(operation.needsPage.value, true);
    assert.equal(operation.isCancelling.value, false);
    operation.cancel();
    assert.equal(operation.isCancelling.value, true);
    await copying;
  });
});
