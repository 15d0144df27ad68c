import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { GuardedFiles } from '../../src/access/guard.ts';
import { OPEN_POLICY } from '../../src/access/policy.ts';
import { type Position, START } from '../../src/changes/cursor.ts';
import { ChangeFeed } from '../../src/changes/feed.ts';
import { ChangeLog } from '../../src/changes/log.ts';
import { Database } from '../../src/database/database.ts';
import { openEngine } from '../../src/database/open.ts';
import { lockTopicOf } from '../../src/database/tables/locks.ts';
import { createFiles } from '../../src/files/files.ts';
import { ChangeStream } from '../../src/http/change-stream.ts';
import { parseFile, ROOT } from '../../src/model/path.ts';
import { createMemoryStore } from '../../src/stores/memory.ts';
import { until } from '../../testing/until.ts';

const CHANGES = 2000;

describe('A stream of changes', () => {
  let folder: string;
  let database: Database;
  let log: ChangeLog;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'holdall-stream-'));
    database = new Database(await openEngine({ url: undefined, stateFolder: folder }));
    await database.start();
    log = new ChangeLog(database);
    const path = parseFile(`${'long/'.repeat(100)}file`);
    await log.append(Array.from({ length: CHANGES }, () => ({ type: 'file.created', path }) as const));
  });
  after(async () => {
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  const open = ({
    heartbeatMs,
    drainMs,
    start = START,
  }: {
    readonly heartbeatMs: number;
    readonly drainMs: number;
    readonly start?: Position;
  }) => {
    let confirmations = 0;
    const feed = new ChangeFeed(log, database, { pollMs: 1000, heartbeatMs, drainMs, log: { error: () => {} } });
    const files = new GuardedFiles(createFiles(createMemoryStore(), { presignExpires: 60 }), {
      policy: () => OPEN_POLICY,
      user: undefined,
      confirm: async () => {},
      record: () => {},
    });
    const ending = new AbortController();
    const stream = new ChangeStream({
      feed,
      scope: ROOT,
      start: { changes: [], end: start, cursor: 'oldest', hasMore: true },
      access: { files, confirm: async () => void confirmations++ },
      subscriber: { key: 'ann', isAnonymous: false },
      requestId: '1',
      signal: ending.signal,
      describe: (change) => change,
      hasLocks: true,
    });
    return { feed, stream, ending, confirmations: () => confirmations };
  };

  it('buffers little for a client that does not read, and disconnects it', async () => {
    const { stream } = open({ heartbeatMs: 1000, drainMs: 30 });
    await stream.run();
    assert.ok(stream.output.destroyed);
    assert.ok(stream.output.writableLength < 200_000, `${stream.output.writableLength}`);
  });

  it('sends everything to a client that reads, then heartbeats with the cursor', async () => {
    const { stream, ending } = open({ heartbeatMs: 20, drainMs: 10_000 });
    let text = '';
    stream.output.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    const running = stream.run();
    const { cursor } = await log.newest();
    await until('a heartbeat follows the changes', () => text.includes(`: heartbeat\nid: ${cursor}\n\n`));
    assert.equal(text.match(/^data: /gm)?.length, CHANGES);
    ending.abort();
    await running;
    assert.ok(stream.output.writableEnded);
  });

  it('sends one resync to a client that has missed too many changes', async (t) => {
    const newest = await log.newest();
    // As if the log had far more changes.
    const start = { ...START, sequence: newest.end.sequence - 10_001 };
    const { stream, ending } = open({ heartbeatMs: 20, drainMs: 10_000, start });
    const read = t.mock.method(log, 'read');
    let text = '';
    stream.output.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    const running = stream.run();
    await until('a heartbeat follows', () => text.includes(`: heartbeat\nid: ${newest.cursor}\n\n`));
    assert.deepEqual(text.match(/^data: .*$/gm), ['data: {"type":"resync","path":""}']);
    assert.ok(read.mock.calls.every(({ arguments: [position] }) => position.sequence === newest.end.sequence));
    ending.abort();
    await running;
  });

  it('announces many changes of locks at once, and sends heartbeats meanwhile', async () => {
    const { feed, stream, ending, confirmations } = open({ heartbeatMs: 250, drainMs: 10_000 });
    feed.start();
    let text = '';
    stream.output.setEncoding('utf8').on('data', (part: string) => {
      text += part;
    });
    const running = stream.run();
    const lockEvents = () => text.split('event: locks').length - 1;
    await until('the stream sends a heartbeat', () => text.includes(': heartbeat'));
    const confirmed = confirmations();
    // Each `await` lets the stream run, but no timer.
    for (let count = 0; count < 50; count++) await database.notify(lockTopicOf(parseFile(`${count % 2}`)));
    assert.equal(confirmations(), confirmed);
    await until('the locks are announced', () => lockEvents() >= 2);
    assert.equal(lockEvents(), 2);

    const heartbeats = text.split(': heartbeat').length;
    await until('a heartbeat follows', async () => {
      await database.notify(lockTopicOf(parseFile('a')));
      return text.split(': heartbeat').length > heartbeats;
    });
    ending.abort();
    await running;
    await feed.close();
  });
});
