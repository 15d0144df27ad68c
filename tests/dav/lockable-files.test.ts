import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { it } from 'node:test';
import { DatabaseFault } from '../../src/database/engine.ts';
import type { Lock } from '../../src/dav/lock.ts';
import { LockableFiles } from '../../src/dav/lockable-files.ts';
import type { Locks } from '../../src/dav/locks.ts';
import type { Properties } from '../../src/dav/properties.ts';
import type { Files } from '../../src/files/files.ts';
import type { IncomingFile } from '../../src/files/upload.ts';
import { isStoreError, StoreError } from '../../src/model/error.ts';
import { parseFile } from '../../src/model/path.ts';
import { sampleLock } from './sample-lock.ts';

const PATH = parseFile('a.txt');
const LOCK = sampleLock({ path: PATH });

it('files are changed while the database is unavailable, but not while it is only busy', async () => {
  const upload = async () => ({ path: PATH });
  const send = (fault: DatabaseFault) => {
    const unavailable = new StoreError('database-unavailable', 'Unavailable.', { cause: fault });
    const files = new LockableFiles({ upload } as unknown as Files, {
      locks: { concerning: () => Promise.reject(unavailable) } as unknown as Locks,
      properties: {} as Properties,
      holder: { user: 'ben', appToken: undefined, tokens: new Set() },
      onError: (error) => assert.ifError(error),
    });
    return files.upload({ target: { path: PATH }, body: Readable.from([]), maxSize: 1 });
  };
  await send(new DatabaseFault('unreachable', 'The server is down.'));
  await assert.rejects(
    send(new DatabaseFault('busy', 'The server is busy.', { isOutage: false })),
    (error) => isStoreError(error) && error.code === 'database-unavailable',
  );
});

it('a small body that arrives slowly is checked for locks after it again', async (t) => {
  let locks: readonly Lock[] = [];
  let milliseconds = 0;
  t.mock.method(performance, 'now', () => milliseconds);
  const upload = async ({ atEnd }: IncomingFile) => {
    locks = [LOCK];
    await atEnd?.();
    return { path: PATH };
  };
  const files = new LockableFiles({ upload, stat: async () => ({}) } as unknown as Files, {
    locks: { concerning: async () => locks } as unknown as Locks,
    properties: {} as Properties,
    holder: { user: 'ben', appToken: undefined, tokens: new Set() },
    onError: (error) => assert.ifError(error),
  });
  const send = async (duration: number) => {
    locks = [];
    const atEnd = async () => void (milliseconds += duration);
    await files.upload({ target: { path: PATH }, body: Readable.from([]), maxSize: 1, atEnd });
  };
  await send(1);
  await assert.rejects(send(1000), (error) => isStoreError(error) && error.code === 'locked');
});
