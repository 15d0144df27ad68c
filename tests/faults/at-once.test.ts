import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { link, lstat, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { MoveRecords } from '../../src/stores/disk/move-records.ts';
import { startHoldall } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { assertSameBytes } from '../contract/bytes.ts';
import { type HttpResponse, jsonOf, postForm, postJson, send, upload } from '../http/client.ts';
import { untilNoTemporaryFiles } from '../process/temporary-files.ts';

/** A service that a test sends requests to. */
interface Service {
  readonly port: number;
}

it('resolves concurrent requests to two services on one root consistently', async (t) => {
  const first = await startInProcess(t);
  const second = await startHoldall(t, { root: first.root });
  const { root } = first;
  const services = [first, second];
  const race = racing(services);
  const textAt = (path: string) => readFile(join(root, path), 'utf8');

  await t.test('stores one of several uploads to a path, and readers see only complete files', async () => {
    await race(async (round) => {
      const path = `folder ${round}/file`;
      const put = (number: number) => upload(portOf(services, number), path, versionOf(number));
      await put(0);
      let isDone = false;
      const read = async (reader: number) => {
        while (!isDone) {
          const { status, body } = await send(portOf(services, reader), `/file/${encodeURI(path)}`);
          assert.equal(status, 200);
          assertVersion(body);
          const listing = jsonOf(await send(portOf(services, reader), `/folder%20${round}`));
          const [entry] = listing['entries'] as { size: number }[];
          assert.ok(entry && entry.size >= SIZE && entry.size <= SIZE + RUNNERS.length, 'It is of one version.');
        }
      };
      const reading = Promise.all([0, 1].map(read));
      const responses = await Promise.all(RUNNERS.map((runner) => put(runner + 1))).finally(() => {
        isDone = true;
      });
      await reading;
      const last = await send(first.port, `/file/${encodeURI(path)}`);
      const winner = responses.findIndex(({ headers }) => headers.etag === last.headers.etag) + 1;
      assert.ok(last.body.equals(versionOf(winner)), 'The last ETag is that of the stored upload.');
      assertSameBytes(await readFile(join(root, path)), last.body);
      assert.deepEqual(await readdir(join(root, `folder ${round}`)), ['file']);
    });
  });

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
          portOf(services, runner),
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
        send(portOf(services, runner), '/delete_folder/made', { method: 'DELETE' }),
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
        postForm(portOf(services, runner), [
          { name: 'prefix', value: 'replaced' },
          { name: 'file', filename: `upload ${runner}`, value: 'uploaded' },
        ]),
      );
      const verb = round % 2 === 0 ? '/copy' : '/move';
      const body = { source: 'source', destination: 'replaced', is_folder: true, overwrite: true };
      const response = await postJson(first.port, verb, body);
      for (const { status } of await Promise.all(uploads)) assert.equal(status, 200);
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
      const move = (source: string, destination: string, is_folder: boolean, { port }: Service) =>
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

/**
 * Milliseconds in which other programs must have changed the files: the service waits for 2,000. A test that a busy machine
 * delays for longer tries again.
 */
const MAX_CHANGE_MS = 1500;

it('replaces and removes nothing wrongly if other programs change a file while its move waits for another process', async (t) => {
  const { port, root } = await startInProcess(t);
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
    const began = performance.now();
    const response = postJson(port, `/rename/${encodeURIComponent(from)}`, { newName: to, overwrite });
    return { from, to, newer: `${name} newer`, began, response };
  };
  type Move = Awaited<ReturnType<typeof begin>>;
  const put = (name: 'from' | 'to') => (move: Move) => rename(join(root, move.newer), join(root, move[name]));
  const remove = (name: 'from' | 'to') => (move: Move) => rm(join(root, move[name]), { force: true });
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
  const attempt = async ({ title, overwrite, change, outcome }: (typeof cases)[number], count: number) => {
    const move = await begin(`${title} ${count}`, overwrite);
    const { from, to, began, response } = move;
    // The service then waits to find out whether another process is moving the file.
    for (let responses = 0; responses < 3; responses++) await send(port, `/file/${encodeURIComponent(from)}`);
    await change(move);
    const isInTime = performance.now() - began < MAX_CHANGE_MS;
    const { status, body } = await response;
    if (!isInTime) return false;
    assert.deepEqual([status, await textAt(from), await textAt(to)], outcome, `${title}: ${body.toString()}`);
    return true;
  };
  await Promise.all(
    cases.map(async (each) => {
      let count = 0;
      await until(`"${each.title}" is in time`, () => attempt(each, count++));
    }),
  );
  assert.ok(!existsSync(join(root, '.holdall/moves')));
  await untilNoTemporaryFiles(root);
});

/** Bytes of an upload: several chunks. */
const SIZE = 256 * 1024;

/** Returns the bytes of upload `number`. Its size, and every part of it, identifies the upload. */
const versionOf = (number: number) => Buffer.alloc(SIZE + number, `version ${number};`);

const RUNNERS = Array.from({ length: 8 }, (_, index) => index);
const ROUNDS = 2;

/** Each removal can fail one attempt to create a folder. The service makes more attempts. */
const REMOVALS = 4;

type SendAll = (requestOf: (runner: number) => [path: string, body: object]) => Promise<HttpResponse>[];

/** Runs rounds of concurrent requests, alternately to both services. */
function racing(services: readonly Service[]) {
  const sendAll: SendAll = (requestOf) =>
    RUNNERS.map((runner) => postJson(portOf(services, runner), ...requestOf(runner)));
  return async (run: (round: number, sendAll: SendAll) => Promise<void>) => {
    for (let round = 0; round < ROUNDS; round++) await run(round, sendAll);
  };
}

/** Returns the port of one of the services, in turn. */
const portOf = (services: readonly Service[], turn: number) =>
  services[turn % services.length]?.port ?? assert.fail('There are no services.');

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
