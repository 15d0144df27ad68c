import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { link, lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { MoveRecords } from '../../src/stores/disk/move-records.ts';
import { type Holdall, startHoldall } from '../../testing/holdall.ts';
import { assertSameBytes } from '../contract/bytes.ts';
import { isFullForm } from '../full-forms.ts';
import { type HttpResponse, jsonOf, postForm, postJson, send } from '../http/client.ts';
import { contentsOf, untilNoTemporaryFiles } from '../process/temporary-files.ts';

const SIZE = 3 * 1024 * 1024;
const UPLOADS = isFullForm ? 50 : 16;
const READERS = isFullForm ? 4 : 2;

/** Returns the bytes of upload `number`. Its size, and every part of it, identifies the upload. */
const versionOf = (number: number) => Buffer.alloc(SIZE + number, `version ${number};`);

it(`stores one of ${UPLOADS} concurrent uploads to a path, and readers only see complete files`, async (t) => {
  const { port, root } = await startHoldall(t, { settings: { WORKERS: '2' } });
  const put = (number: number) =>
    postForm(port, [
      { name: 'prefix', value: 'folder/' },
      { name: 'file', filename: 'file', value: versionOf(number) },
    ]);
  await put(0);

  let isDone = false;
  const read = async () => {
    while (!isDone) {
      const { status, body } = await send(port, '/file/folder/file');
      assert.equal(status, 200);
      assertVersion(body);
      const [entry] = jsonOf(await send(port, '/folder'))['entries'] as { size: number }[];
      assert.ok(
        entry && entry.size >= SIZE && entry.size <= SIZE + UPLOADS,
        'A listing describes one complete version.',
      );
    }
  };
  const reading = Promise.all(Array.from({ length: READERS }, read));
  const responses = await Promise.all(Array.from({ length: UPLOADS }, (_, index) => put(index + 1))).finally(() => {
    isDone = true;
  });
  await reading;

  assert.ok(responses.every(({ status }) => status === 200));
  const last = await send(port, '/file/folder/file');
  const winner = responses.findIndex(({ headers }) => headers.etag === last.headers.etag) + 1;
  assert.ok(last.body.equals(versionOf(winner)), 'The last ETag is that of the stored upload.');
  assertSameBytes(await readFile(join(root, 'folder/file')), last.body);
  assert.deepEqual(await contentsOf(root), ['folder/', 'folder/file']);
  await untilNoTemporaryFiles(root);
});

it('resolves concurrent requests to two services on one root consistently', async (t) => {
  const first = await startHoldall(t, { settings: { WORKERS: '2' } });
  const second = await startHoldall(t, { root: first.root });
  const { root } = first;
  const services = [first, second];
  const race = racing(services);
  const textAt = (path: string) => readFile(join(root, path), 'utf8');

  await t.test('completes exactly one of several file copies to one destination', async () => {
    await plant(root, RUNNERS);
    await race(async (round, sendAll) => {
      const winner = await onlyWinner(
        sendAll((runner) => ['/copy', { source: `${runner}`, destination: `copy ${round}`, is_folder: false }]),
        409,
      );
      assert.equal(await textAt(`copy ${round}`), `runner ${winner}`);
    });
    assert.ok(RUNNERS.every((runner) => existsSync(join(root, `${runner}`))));
  });

  await t.test('completes exactly one of several file moves to one path and keeps the other sources', async () => {
    await race(async (round, sendAll) => {
      await plant(root, RUNNERS);
      const winner = await onlyWinner(
        sendAll((runner) => ['/move', { source: `${runner}`, destination: `moved ${round}`, is_folder: false }]),
        409,
      );
      assert.equal(await textAt(`moved ${round}`), `runner ${winner}`);
      for (const runner of RUNNERS)
        assert.equal(existsSync(join(root, `${runner}`)), runner !== winner, `${runner} of ${winner}`);
    });
  });

  await t.test(
    'completes exactly one of several moves of one file; the others return 404 and create no destination',
    async () => {
      await race(async (round, sendAll) => {
        await writeFile(join(root, 'wanted'), 'wanted');
        const winner = await onlyWinner(
          sendAll((runner) => ['/move', { source: 'wanted', destination: `got ${round} ${runner}`, is_folder: false }]),
          404,
        );
        const got = RUNNERS.filter((runner) => existsSync(join(root, `got ${round} ${runner}`)));
        assert.deepEqual(got, [winner]);
        assert.equal(await textAt(`got ${round} ${winner}`), 'wanted');
      });
    },
  );

  for (const [kind, files] of Object.entries({ 'a folder': ['file'], 'an empty folder': [] })) {
    for (const verb of ['copy', 'move']) {
      await t.test(`completes exactly one concurrent ${verb} of ${kind}`, async () => {
        await race(async (round, sendAll) => {
          for (const runner of RUNNERS) {
            await mkdir(join(root, `${kind} ${runner}`), { recursive: true });
            for (const name of files) await writeFile(join(root, `${kind} ${runner}`, name), `runner ${runner}`);
          }
          const destination = `${verb} of ${kind} ${round}`;
          const winner = await onlyWinner(
            sendAll((runner) => [`/${verb}`, { source: `${kind} ${runner}`, destination, is_folder: true }]),
            409,
          );
          assert.deepEqual(await readdir(join(root, destination)), files);
          for (const name of files) assert.equal(await textAt(`${destination}/${name}`), `runner ${winner}`);
        });
      });
    }
  }

  await t.test('completes exactly one concurrent upload with If-None-Match: *', async () => {
    await race(async (round) => {
      const responses = RUNNERS.map((runner) =>
        postForm(
          (runner % 2 === 0 ? first : second).port,
          [{ name: 'file', filename: `uploaded ${round}`, value: `runner ${runner}` }],
          { 'if-none-match': '*' },
        ),
      );
      const winner = await onlyWinner(responses, 412);
      assert.equal(await textAt(`uploaded ${round}`), `runner ${winner}`);
    });
  });

  await t.test('creates folders while concurrent requests delete them', async () => {
    await race(async (_round, sendAll) => {
      const made = sendAll(() => ['/create_folder', { path: 'made/and/removed' }]);
      const removed = RUNNERS.slice(0, REMOVALS).map((runner) =>
        send(services[runner % services.length]?.port ?? Number.NaN, '/delete_folder/made', { method: 'DELETE' }),
      );
      for (const { status, body } of await Promise.all(made)) assert.equal(status, 200, body.toString());
      await Promise.all(removed);
    });
  });

  await t.test('replaces a folder while concurrent requests upload into it and recreate it', async () => {
    await race(async (round) => {
      for (const folder of ['source', 'replaced']) {
        await mkdir(join(root, folder), { recursive: true });
        await writeFile(join(root, folder, `of ${folder} ${round}`), folder);
      }
      const uploads = RUNNERS.map((runner) =>
        postForm(services[runner % services.length]?.port ?? Number.NaN, [
          { name: 'prefix', value: 'replaced' },
          { name: 'file', filename: `upload ${runner}`, value: 'uploaded' },
        ]),
      );
      const verb = round % 2 === 0 ? '/copy' : '/move';
      const body = { source: 'source', destination: 'replaced', is_folder: true, overwrite: true };
      const response = await postJson(first.port, verb, body);
      for (const upload of await Promise.all(uploads)) assert.equal(upload.status, 200);
      assert.equal(response.status, 200, response.body.toString());
      const left = await readdir(join(root, 'replaced'));
      assert.ok(left.includes(`of source ${round}`) && !left.includes(`of replaced ${round}`), left.join());
    });
  });

  await t.test('returns 200 or 409 for a rename whose source is replaced by its destination', async () => {
    await race(async () => {
      for (const name of ['x', 'y']) await writeFile(join(root, name), name);
      const replacing = postJson(first.port, '/rename/x', { newName: 'y', overwrite: true });
      const { status, body } = await postJson(second.port, '/rename/y', { newName: 'x' });
      assert.ok(status === 200 || status === 409, body.toString());
      assert.equal((await replacing).status, 200);
    });
  });

  await t.test('keeps a file that is moved into the destination of a concurrent move of its folder', async () => {
    await race(async (round) => {
      await mkdir(join(root, `left ${round}`));
      await writeFile(join(root, `left ${round}/file`), 'text');
      const move = (source: string, destination: string, is_folder: boolean, { port }: Holdall) =>
        postJson(port, '/move', { source, destination, is_folder });
      await Promise.all([
        move(`left ${round}/file`, `right ${round}/file`, false, first),
        move(`left ${round}`, `right ${round}`, true, second),
      ]);
      assert.equal(await textAt(`right ${round}/file`), 'text');
    });
  });

  await t.test('leaves no temporary files', () => untilNoTemporaryFiles(root));
});

it('replaces and removes nothing wrongly if other programs change a file while its move waits for another process', async (t) => {
  const { port, root } = await startHoldall(t);
  const records = new MoveRecords(join(root, '.holdall/moves'));
  const textAt = (path: string) => readFile(join(root, path), 'utf8').catch(() => undefined);
  /** Makes two hard links of a file, as a move that another process has begun, and starts the same move. */
  const begin = async (name: string, overwrite: boolean) => {
    const [from, to] = [`${name} from`, `${name} to`];
    await writeFile(join(root, from), 'moved');
    await link(join(root, from), join(root, to));
    await writeFile(join(root, `${name} newer`), 'newer');
    const { dev, ino } = await lstat(join(root, from), { bigint: true });
    await records.add([`${dev}:${ino}`, from, to]);
    const response = postJson(port, `/rename/${encodeURIComponent(from)}`, { newName: to, overwrite });
    return { from, to, newer: `${name} newer`, response };
  };
  type Move = Awaited<ReturnType<typeof begin>>;
  const put = (name: 'from' | 'to') => (move: Move) => rename(join(root, move.newer), join(root, move[name]));
  const remove = (name: 'from' | 'to') => (move: Move) => rm(join(root, move[name]));
  const cases: readonly {
    readonly title: string;
    readonly overwrite: boolean;
    readonly change: (move: Move) => Promise<unknown>;
    /** The status, and the content of the source and the destination. */
    readonly outcome: readonly [number, string | undefined, string | undefined];
  }[] = [
    { title: 'untouched', overwrite: false, change: async () => {}, outcome: [200, undefined, 'moved'] },
    { title: 'replaced to', overwrite: false, change: put('to'), outcome: [409, 'moved', 'newer'] },
    { title: 'replaced to, overwritten', overwrite: true, change: put('to'), outcome: [200, undefined, 'moved'] },
    { title: 'replaced from', overwrite: false, change: put('from'), outcome: [409, 'newer', 'moved'] },
    { title: 'replaced from, overwritten', overwrite: true, change: put('from'), outcome: [200, undefined, 'newer'] },
    { title: 'removed to', overwrite: true, change: remove('to'), outcome: [200, undefined, 'moved'] },
    { title: 'removed from', overwrite: true, change: remove('from'), outcome: [404, undefined, 'moved'] },
  ];
  const moves = await Promise.all(cases.map(({ title, overwrite }) => begin(title, overwrite)));
  // The service then waits to find out whether another process is moving the files.
  for (let responses = 0; responses < 20; responses++)
    await send(port, `/file/${encodeURIComponent('untouched from')}`);
  await Promise.all(cases.map(({ change }, index) => change(moves[index] ?? assert.fail())));
  for (const [index, { title, outcome }] of cases.entries()) {
    const { from, to, response } = moves[index] ?? assert.fail();
    const { status, body } = await response;
    assert.deepEqual([status, await textAt(from), await textAt(to)], outcome, `${title}: ${body.toString()}`);
  }
  assert.ok(!existsSync(join(root, '.holdall/moves')));
  await untilNoTemporaryFiles(root);
});

const RUNNERS = Array.from({ length: 8 }, (_, index) => index);
const ROUNDS = isFullForm ? 15 : 3;

/** Each removal can fail one attempt to create a folder. The service makes more attempts. */
const REMOVALS = 4;

type SendAll = (requestOf: (runner: number) => [path: string, body: object]) => Promise<HttpResponse>[];

/** Runs rounds of concurrent requests, alternately to both services. */
function racing(services: readonly Holdall[]) {
  const portOf = (runner: number) => services[runner % services.length]?.port ?? Number.NaN;
  const sendAll: SendAll = (requestOf) => RUNNERS.map((runner) => postJson(portOf(runner), ...requestOf(runner)));
  return async (run: (round: number, sendAll: SendAll) => Promise<void>) => {
    for (let round = 0; round < ROUNDS; round++) await run(round, sendAll);
  };
}

/** Asserts that one request succeeds and all others return this status. Returns the number of the successful one. */
async function onlyWinner(responses: readonly Promise<HttpResponse>[], refusal: number): Promise<number> {
  const statuses = (await Promise.all(responses)).map(({ status }) => status);
  const winner = statuses.indexOf(200);
  assert.deepEqual(
    statuses,
    statuses.map((_, runner) => (runner === winner ? 200 : refusal)),
  );
  assert.notEqual(winner, -1);
  return winner;
}

async function plant(root: string, runners: readonly number[]): Promise<void> {
  for (const runner of runners) await writeFile(join(root, `${runner}`), `runner ${runner}`);
}

function assertVersion(bytes: Buffer): void {
  assert.ok(bytes.equals(versionOf(bytes.length - SIZE)), 'The bytes are those of one version.');
}
