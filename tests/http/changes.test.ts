import assert from 'node:assert/strict';
import { get, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { PERMISSIONS } from '../../src/access/policy.ts';
import { parseFile } from '../../src/model/path.ts';
import { until } from '../../testing/until.ts';
import { EVERYONE, form, type GuardedService, grant, json, startGuardedService } from '../access/guarded-service.ts';
import { memory } from '../contract/backend.ts';
import { assertFailure, type Call, type HttpResponse, jsonOf } from './client.ts';

interface ChangeJson {
  readonly id: string;
  readonly time: string;
  readonly type: string;
  readonly path: string;
  readonly from?: string;
  readonly size?: number;
  readonly etag?: string;
  readonly user?: string;
  readonly link?: string;
}

interface Page {
  readonly changes: readonly ChangeJson[];
  readonly cursor: string;
  readonly hasMore: boolean;
}

const upload = (name: string, content: string, prefix = '', headers = {}) =>
  form(
    [
      { name: 'prefix', value: prefix },
      { name: 'file', filename: name, value: content },
    ],
    headers,
  );

/** Returns the change without its ID and time. */
const summaryOf = ({ type, path, from }: ChangeJson) => [type, path, ...(from === undefined ? [] : [from])].join(' ');

const LOCK_BODY = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';

/** A stream of server-sent events. */
class EventStream {
  readonly response: IncomingMessage;
  text = '';
  isEnded = false;

  constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8');
    response.on('data', (text: string) => {
      this.text += text;
    });
    response.on('close', () => {
      this.isEnded = true;
    });
  }

  get changes(): ChangeJson[] {
    return this.#blocks()
      .filter((lines) => !lines.some((line) => line.startsWith('event: ')))
      .flatMap((lines) => lines.filter((line) => line.startsWith('data: ')))
      .map((line) => JSON.parse(line.slice('data: '.length)));
  }

  /** The data of the events that announce changes of locks. */
  get locks(): unknown[] {
    return this.#blocks()
      .filter(([first]) => first === 'event: locks')
      .map((lines) => JSON.parse(String(lines.at(-1)).slice('data: '.length)));
  }

  get lastId(): string {
    return (
      this.text
        .match(/^id: (.*)$/gm)
        ?.at(-1)
        ?.slice('id: '.length) ?? ''
    );
  }

  async untilChange(summary: string): Promise<void> {
    await until(`${summary} arrives`, () => this.changes.some((change) => summaryOf(change) === summary));
  }

  #blocks(): string[][] {
    return this.text.split('\n\n').map((block) => block.split('\n'));
  }
}

describe('GET /-/changes', () => {
  let service: GuardedService;
  const streams: EventStream[] = [];
  let count = 0;
  beforeEach(async () => {
    service = await startGuardedService(memory, { hasJobs: true });
    service.grant(grant('', PERMISSIONS));
  });
  afterEach(async () => {
    for (const { response } of streams.splice(0)) response.destroy();
    await service.stop();
  });

  const pageOf = (response: HttpResponse) => {
    assert.equal(response.status, 200, response.body.toString());
    return jsonOf(response) as unknown as Page;
  };
  const read = async (query = '') => pageOf(await service.asAnn(`/-/changes?${query}`));
  const readAll = async () => (await read('since=oldest')).changes.map(summaryOf);
  const ok = (response: HttpResponse) => assert.equal(response.status, 200, response.body.toString());
  const follow = async (query = '', headers = {}, user = service.authHeaders): Promise<EventStream> => {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const all = { ...user, accept: 'text/event-stream', ...headers };
    get({ host: '127.0.0.1', port: service.port, path: `/-/changes?${query}`, headers: all, agent: false }, resolve).on(
      'error',
      reject,
    );
    const response = await promise;
    const stream = new EventStream(response);
    streams.push(stream);
    assert.equal(response.statusCode, 200);
    assert.equal(response.headers['content-type'], 'text/event-stream');
    await until('the stream has begun', () => stream.text.includes('retry: '));
    return stream;
  };

  it('returns every change of a file or folder once, with the user', async () => {
    const { cursor } = await read();
    ok(await service.asAnn('/upload', upload('a.txt', 'one')));
    ok(await service.asAnn('/upload', upload('a.txt', 'three')));
    ok(await service.asAnn('/upload', upload('b.txt', '', '', { 'if-none-match': '*' })));
    ok(
      await service.asAnn(
        '/upload',
        form([
          { name: 'file', filename: 'late.txt', value: 'x' },
          { name: 'prefix', value: 'd' },
        ]),
      ),
    );
    ok(await service.asAnn('/rename/a.txt', json({ newName: 'c.txt' })));
    ok(await service.asAnn('/copy', json({ source: 'c.txt', destination: 'e/c.txt', is_folder: false })));
    ok(await service.asAnn('/move', json({ source: 'b.txt', destination: 'e/b.txt', is_folder: false })));
    ok(await service.asAnn('/delete/c.txt', { method: 'DELETE' }));
    ok(await service.asAnn('/create_folder', json({ path: 'f' })));
    ok(await service.asAnn('/copy', json({ source: 'e', destination: 'g', is_folder: true })));
    ok(await service.asAnn('/rename_folder/g', json({ newName: 'h' })));
    ok(await service.asAnn('/move', json({ source: 'h', destination: 'f/h', is_folder: true })));
    ok(await service.asAnn('/delete_folder/f', { method: 'DELETE' }));
    assert.equal((await service.asAnn('/delete/absent', { method: 'DELETE' })).status, 404);
    const { changes, hasMore } = await read(`since=${cursor}`);
    assert.deepEqual(changes.map(summaryOf), [
      'file.created a.txt',
      'file.replaced a.txt',
      'file.created b.txt',
      'file.created d/late.txt',
      'file.moved c.txt a.txt',
      'file.copied e/c.txt c.txt',
      'file.moved e/b.txt b.txt',
      'file.deleted c.txt',
      'folder.created f/',
      'folder.copied g/ e/',
      'folder.moved h/ g/',
      'folder.moved f/h/ h/',
      'folder.deleted f/',
    ]);
    assert.equal(hasMore, false);
    assert.ok(changes.every(({ user }) => user === 'ann'));
    const listed = await service.asAnn('/e/');
    const [, copy] = (jsonOf(listed) as unknown as { entries: { etag: string; size: number }[] }).entries;
    const { etag, size } = changes.find(({ type }) => type === 'file.copied') ?? {};
    assert.deepEqual({ etag, size }, { etag: copy?.etag, size: copy?.size });
  });

  it('names the share link through which a visitor made a change, instead of a user', async () => {
    ok(await service.asAnn('/create_folder', json({ path: 'inbox' })));
    const created = await service.asAnn('/-/links', json({ path: 'inbox/', permissions: ['read', 'write'] }));
    ok(created);
    const {
      link: { id },
      token,
    } = jsonOf(created) as { link: { id: string }; token: string };
    const stream = await follow();
    service.events();
    ok(await service.asAnonymous(`/-/s/${token}/upload`, upload('a.txt', 'one', 'sub')));
    await until('the change has arrived', () => stream.changes.length > 0);
    const { changes } = await read('since=oldest');
    assert.deepEqual(changes.at(-1), stream.changes[0]);
    assert.partialDeepStrictEqual(changes.at(-1), { type: 'file.created', path: 'inbox/sub/a.txt', link: id });
    assert.deepEqual(
      changes.map(({ user, link }) => [user, link]),
      [
        ['ann', undefined],
        [undefined, id],
      ],
    );
    assert.deepEqual(service.events(), [
      {
        event: 'change',
        action: 'upload',
        path: 'inbox/sub/a.txt',
        outcome: 'done',
        link: id,
        who: undefined,
        way: 'link',
      },
    ]);
  });

  it('returns all later changes after the cursor in the document of the web UI', async () => {
    const { body } = await service.asAnn('/', { headers: { accept: 'text/html' } });
    const [, cursor = ''] = /"cursor":"([\w-]+)"/.exec(body.toString()) ?? [];
    ok(await service.asAnn('/upload', upload('a.txt', 'one')));
    assert.deepEqual((await read(`since=${cursor}`)).changes.map(summaryOf), ['file.created a.txt']);
  });

  it('records what is restored from the trash and from versions', async () => {
    for (const content of ['one', 'other']) ok(await service.asAnn('/upload', upload('a.txt', content)));
    ok(await service.asAnn('/upload', upload('b.txt', 'b', 'f')));
    ok(await service.asAnn('/delete/a.txt', { method: 'DELETE' }));
    ok(await service.asAnn('/delete_folder/f', { method: 'DELETE' }));
    const { cursor } = await read('');
    const { entries } = jsonOf(await service.asAnn('/-/trash')) as { entries: { id: string }[] };
    for (const { id } of entries) ok(await service.asAnn(`/-/trash/${id}/restore`, { method: 'POST' }));
    const { versions } = jsonOf(await service.asAnn('/-/versions/a.txt')) as { versions: { id: string }[] };
    ok(await service.asAnn('/-/versions/a.txt', json({ version: versions[0]?.id })));
    const { changes } = await read(`since=${cursor}`);
    assert.deepEqual(changes.map(summaryOf), ['folder.restored f/', 'file.restored a.txt', 'file.replaced a.txt']);
    assert.deepEqual(
      changes.map(({ size }) => size),
      [undefined, 5, 3],
    );
  });

  it('records the changes of jobs', async () => {
    await service.plant({ 'a/1': 'one' });
    const body = json({ source: 'a', destination: 'b', is_folder: true }, { prefer: 'respond-async' });
    assert.equal((await service.asAnn('/copy', body)).status, 202);
    await until('the change is recorded', async () => (await readAll()).includes('folder.copied b/ a/'));
  });

  it('continues from a cursor or the ID of a change, in pages', async () => {
    for (const name of ['1', '2', '3']) ok(await service.asAnn('/upload', upload(name, name)));
    const first = await read('since=oldest&limit=2');
    assert.deepEqual([first.changes.map(({ path }) => path), first.hasMore], [['1', '2'], true]);
    const second = await read(`since=${first.cursor}`);
    assert.deepEqual([second.changes.map(({ path }) => path), second.hasMore], [['3'], false]);
    assert.deepEqual(await read(`since=${first.changes[1]?.id}`), second);
    assert.deepEqual((await read(`since=${second.cursor}`)).changes, []);
  });

  it('returns changes that followed since the last request from the same cursor', async () => {
    ok(await service.asAnn('/upload', upload('first', 'a')));
    const before = await read('since=oldest');
    ok(await service.asAnn('/upload', upload('second', 'b')));
    const after = await read('since=oldest');
    assert.deepEqual(
      [before, after].map(({ changes }) => changes.map(({ path }) => path)),
      [['first'], ['first', 'second']],
    );
    assert.equal(after.hasMore, false);
  });

  it('returns the newest changes first with "before", in pages', async () => {
    for (const name of ['1', '2', '3']) ok(await service.asAnn('/upload', upload(name, name)));
    const first = await read('before=newest&limit=2');
    assert.deepEqual([first.changes.map(({ path }) => path), first.hasMore], [['3', '2'], true]);
    const second = await read(`before=${first.cursor}&limit=1`);
    assert.deepEqual([second.changes.map(({ path }) => path), second.hasMore], [['1'], false]);
    assert.deepEqual(await read(`before=${first.changes[1]?.id}`), second);
    for (const [query, headers] of [
      [`before=newest&since=${first.cursor}`, {}],
      ['before=newest', { accept: 'text/event-stream' }],
      ['file=1&folder=', {}],
    ] as const) {
      assertFailure(await service.asAnn(`/-/changes?${query}`, { headers }), 400, /can't be combined with/);
    }
  });

  it('limits changes to a file and the folders that contain it', async () => {
    service.grant(grant('a', PERMISSIONS));
    for (const name of ['1', '12']) ok(await service.asAnn('/upload', upload(name, name, 'a')));
    ok(await service.asAnn('/rename/a/1', json({ newName: '2' })));
    ok(await service.asAnn('/copy', json({ source: 'a/2', destination: 'a/b/1', is_folder: false })));
    ok(await service.asAnn('/delete_folder/a', { method: 'DELETE' }));
    const summariesOf = async (query: string) => (await read(query)).changes.map(summaryOf);
    const ofOld = ['folder.deleted a/', 'file.moved a/2 a/1', 'file.created a/1'];
    assert.deepEqual(await summariesOf('before=newest&file=a/1'), ofOld);
    assert.deepEqual(await summariesOf('since=oldest&file=a/1'), ofOld.toReversed());
    const copied = ['folder.deleted a/', 'file.copied a/b/1 a/2'];
    assert.deepEqual(await summariesOf('before=newest&file=a/b/1'), copied);
    const stream = await follow('file=a/b/1', { 'last-event-id': (await read('since=oldest&limit=1')).cursor });
    await stream.untilChange('folder.deleted a/');
    assert.deepEqual(stream.changes.map(summaryOf), copied.toReversed());
    assertFailure(await service.asAnn('/-/changes?file=b/1'), 403, /don't have permission to read "b\/1"/);
  });

  it('reads no changes for HEAD, few for a page without visible ones, and none for an undo that is not permitted', async (t) => {
    service.grant(grant('', PERMISSIONS), grant('public/', ['read'], EVERYONE));
    const log = service.changes?.feed.log;
    assert.ok(log);
    const path = parseFile('private/a.txt');
    for (let batch = 0; batch < 6; batch++)
      await log.append(Array.from({ length: 1000 }, () => ({ type: 'file.created', path }) as const));
    await service.asAnn('/upload', upload('a.txt', 'a', 'public/'));
    const { changes } = jsonOf(await service.asAnonymous('/-/changes?before=newest&limit=1')) as unknown as Page;
    const [reads, readsBefore, readsBack] = [
      t.mock.method(log, 'read'),
      t.mock.method(log, 'readBefore'),
      t.mock.method(log, 'readBack'),
    ];
    for (const query of ['since=oldest', 'before=newest', ''])
      assert.equal((await service.asAnonymous(`/-/changes?${query}`, { method: 'HEAD' })).status, 200, query);
    assert.equal(reads.mock.callCount() + readsBefore.mock.callCount(), 0);
    assert.equal((await service.asAnonymous('/-/changes?since=x', { method: 'HEAD' })).status, 400);
    const page = jsonOf(await service.asAnonymous('/-/changes?since=oldest')) as unknown as Page;
    assert.equal(page.hasMore, true);
    assert.ok(reads.mock.callCount() <= 4, `${reads.mock.callCount()}`);
    const [change] = changes;
    assert.ok(change);
    assert.equal((await service.asAnonymous('/-/undo', json({ change: change.id }))).status, 401);
    assert.equal(readsBack.mock.callCount(), 0);
  });

  it('refuses a cursor that it did not issue', async () => {
    assertFailure(await service.asAnn('/-/changes?since=1'), 400, /was not issued by the change feed/);
    const foreign = await service.asAnn('/-/changes?since=AAAAAAAAAAAAAAAAAAAAAA');
    assert.deepEqual([foreign.status, jsonOf(foreign).code], [400, 'cursor-expired']);
    const stream = await service.asAnn('/-/changes', {
      headers: { accept: 'text/event-stream', 'last-event-id': 'AAAAAAAAAAAAAAAAAAAAAA' },
    });
    assert.equal(jsonOf(stream).code, 'cursor-expired');
  });

  it('limits changes to a folder and everything that contains or is below it', async () => {
    for (const [prefix, name] of [
      ['a/b', '1'],
      ['a', '2'],
      ['ab', '3'],
    ] as const) {
      ok(await service.asAnn('/upload', upload(name, name, prefix)));
    }
    ok(await service.asAnn('/delete_folder/a', { method: 'DELETE' }));
    const { changes } = await read('since=oldest&folder=a/b/');
    assert.deepEqual(changes.map(summaryOf), ['file.created a/b/1', 'folder.deleted a/']);
  });

  it('shows a user only what they can read at that moment', async () => {
    service.grant(grant('', PERMISSIONS, EVERYONE));
    const asAnonymous = async (path: string, call: Call | object) =>
      ok(await service.asAnonymous(path, 'method' in call ? call : json(call)));
    await asAnonymous('/upload', upload('1', 'x', 'open'));
    await asAnonymous('/upload', upload('2', 'x', 'closed'));
    await asAnonymous('/move', { source: 'open/1', destination: 'closed/1', is_folder: false });
    await asAnonymous('/move', { source: 'closed/2', destination: 'open/2', is_folder: false });
    await asAnonymous('/copy', { source: 'closed/1', destination: 'open/3', is_folder: false });
    await asAnonymous('/move', { source: 'closed', destination: 'open/closed', is_folder: true });
    service.grant(grant('open', ['read']));
    const { changes } = await read('since=oldest');
    assert.deepEqual(changes.map(summaryOf), [
      'file.created open/1',
      'file.deleted open/1',
      'file.created open/2',
      'file.created open/3',
      'folder.created open/closed/',
    ]);
    assert.ok(!JSON.stringify(changes).includes('"closed'));
    assertFailure(await service.asAnn('/-/changes?folder=closed'), 403, /don't have permission to read "closed\/"/);
    assertFailure(await service.asAnonymous('/-/changes'), 401, /^Sign in/);
    service.grant();
    assertFailure(await service.asAnn('/-/changes'), 403, /don't have permission/);
  });

  it('returns a page to a client that prefers JSON to a stream', async () => {
    const accept = 'application/json, text/event-stream;q=0.5';
    assert.match(pageOf(await service.asAnn('/-/changes', { headers: { accept } })).cursor, /./);
  });

  it('streams changes, and resumes after the last event', async () => {
    const stream = await follow();
    ok(await service.asAnn('/upload', upload('1', 'x')));
    await stream.untilChange('file.created 1');
    const { lastId } = stream;
    assert.equal(lastId, stream.changes[0]?.id);
    stream.response.destroy();
    ok(await service.asAnn('/upload', upload('2', 'x')));
    const resumed = await follow('since=oldest', { 'last-event-id': lastId });
    await resumed.untilChange('file.created 2');
    assert.deepEqual(resumed.changes.map(summaryOf), ['file.created 2']);
    const replayed = await follow('since=oldest');
    await replayed.untilChange('file.created 2');
    assert.deepEqual(replayed.changes.map(summaryOf), ['file.created 1', 'file.created 2']);
  });

  it('tells a subscriber to read again when the permissions change, and shows only what remains readable', async () => {
    const canWrite = grant('', ['write'], EVERYONE);
    service.grant(grant('', PERMISSIONS), canWrite);
    const stream = await follow();
    service.grant(grant('a', ['read']), canWrite);
    ok(await service.asAnonymous('/upload', upload('hidden', 'x', 'b')));
    ok(await service.asAnonymous('/create_folder', json({ path: 'hidden' })));
    ok(await service.asAnonymous('/upload', upload('seen', 'x', 'a')));
    await stream.untilChange('file.created a/seen');
    assert.deepEqual(stream.changes.map(summaryOf), ['resync ', 'file.created a/seen']);
    assert.ok(!stream.text.includes('hidden'));
  });

  describe('about locks', () => {
    const dav = async (method: string, path: string, headers = {}, body = '') => {
      const response = await service.asAnn(`/-/dav/${path}`, { method, headers, body });
      assert.ok(response.status < 300, `${method} ${path}: ${response.status} ${response.body.toString()}`);
      return String(response.headers['lock-token']);
    };
    const lock = (path: string) => dav('LOCK', path, {}, LOCK_BODY);
    const untilLocks = (stream: EventStream, paths: readonly string[]) =>
      until(`${paths.join(', ')} arrive`, () => stream.locks.length >= paths.length).then(() =>
        assert.deepEqual(
          stream.locks,
          paths.map((path) => ({ path })),
        ),
      );

    it('announces in streams that ask for it that locks were set, refreshed, released, or ended with their file', async () => {
      await service.plant({ 'a/1': 'x', 'a/2': 'x', b: 'x' });
      const [stream, plain, log] = [await follow('folder=a&locks=true'), await follow('folder=a'), await read()];
      const token = await lock('a/1');
      await untilLocks(stream, ['a/1']);
      await lock('b');
      await dav('LOCK', 'a/1', { if: `(${token})` });
      await untilLocks(stream, ['a/1', 'a/1']);
      await dav('UNLOCK', 'a/1', { 'lock-token': token });
      await untilLocks(stream, ['a/1', 'a/1', 'a/1']);
      await lock('a/2');
      await untilLocks(stream, ['a/1', 'a/1', 'a/1', 'a/2']);
      const { locks } = jsonOf(await service.asAnn('/-/locks?folder=a')) as { locks: { id: string }[] };
      ok(await service.asAnn(`/-/locks/${locks[0]?.id}`, { method: 'DELETE' }));
      await untilLocks(stream, ['a/1', 'a/1', 'a/1', 'a/2', 'a/2']);
      const root = await dav('LOCK', '', { depth: '0' }, LOCK_BODY);
      await untilLocks(stream, ['a/1', 'a/1', 'a/1', 'a/2', 'a/2', '']);
      await dav('UNLOCK', '', { 'lock-token': root });
      await untilLocks(stream, ['a/1', 'a/1', 'a/1', 'a/2', 'a/2', '', '']);
      const next = await lock('a/2');
      await untilLocks(stream, ['a/1', 'a/1', 'a/1', 'a/2', 'a/2', '', '', 'a/2']);
      await dav('DELETE', 'a/2', { if: `(${next})` });
      await stream.untilChange('file.deleted a/2');
      await untilLocks(stream, ['a/1', 'a/1', 'a/1', 'a/2', 'a/2', '', '', 'a/2', 'a/2']);
      assert.ok(!stream.text.includes(token), 'The token is a secret of the client.');
      // Locks are not changes of files.
      await plain.untilChange('file.deleted a/2');
      assert.ok(!plain.text.includes('locks'));
      const later = await read(`since=${log.cursor}`);
      assert.deepEqual(later.changes.map(summaryOf), ['file.deleted a/2']);
      assert.deepEqual(stream.changes.map(summaryOf), ['file.deleted a/2']);
      assertFailure(await service.asAnn('/-/changes?locks=true'), 400, /"locks" can't be combined with a page/);
    });

    it('announces nothing about files that the user can not read at that moment', async () => {
      await service.plant({ 'open/1': 'x', 'closed/secret': 'x' });
      const all = grant('', PERMISSIONS);
      service.grant(all, grant('open', ['read'], EVERYONE));
      const stream = await follow('locks=true', {}, {});
      for (const path of ['closed/secret', 'open/1']) await lock(path);
      await untilLocks(stream, ['open/1']);
      assert.ok(!stream.text.includes('closed'));
      await service.plant({ 'open/2': 'x', 'closed/2': 'x' });
      service.grant(all, grant('closed', ['read'], EVERYONE));
      for (const path of ['open/2', 'closed/2']) await lock(path);
      await untilLocks(stream, ['open/1', 'closed/2']);
    });
  });

  it('ends a stream when the permission for its folder is revoked', async () => {
    const canWrite = grant('b', ['write'], EVERYONE);
    service.grant(grant('a', ['read']), canWrite);
    const stream = await follow('folder=a');
    service.grant(canWrite);
    ok(await service.asAnonymous('/upload', upload('1', 'x', 'b')));
    await until('the stream has ended', () => stream.isEnded);
    assert.match(stream.text, /event: closed\ndata: .*"code":"permission-denied"/);
  });

  it('ends a stream when its user is removed', async () => {
    service.grant(grant('', ['read', 'write'], EVERYONE));
    const stream = await follow();
    service.removeAnn();
    // The identity of a request is trusted for its first second.
    await until('the stream has ended', async () => {
      ok(await service.asAnonymous('/upload', upload(`${++count}`, 'x')));
      return stream.isEnded;
    });
    assert.match(stream.text, /event: closed\ndata: .*"code":"session-ended"/);
  });

  it('does not delay the shutdown', async () => {
    const stream = await follow();
    const stopping = service.stop();
    await until('the stream has ended', () => stream.isEnded);
    await stopping;
    service = await startGuardedService(memory, { hasJobs: true });
  });
});
