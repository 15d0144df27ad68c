import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { signal } from '@preact/signals';
import { canUnlock, delayUntilExpiry, findLock } from '../../../web/src/model/locks/locks.ts';
import { unlock } from '../../../web/src/model/locks/unlock.ts';
import type { Lock } from '../../../web/src/platform/service/locks.ts';
import type { SendOptions } from '../../../web/src/platform/service/service.ts';
import type { ServiceError } from '../../../web/src/platform/service/service-error.ts';
import { createEnglish, withoutIsolates } from './languages.ts';
import { refusal } from './service-errors.ts';

const NOW = new Date('2026-11-27T12:00:00Z');

function lockOf(path: string, settings: Partial<Lock> = {}): Lock {
  return {
    id: `of ${path}`,
    path,
    scope: 'exclusive',
    depth: '0',
    createdAt: '2026-11-27T11:50:00Z',
    expiresAt: '2026-11-27T12:10:00Z',
    ...settings,
  };
}

const permissionsIn = (...folders: string[]) => ({ allowsIn: (folder: string) => folders.includes(folder) });
const accountOf = (name: string | null) => ({ lastUsername: signal(name) });

describe('A lock', () => {
  it('is that of the item itself, or that of a folder with everything in it', () => {
    const deep = lockOf('a/', { depth: 'infinity' });
    const own = lockOf('a/b.txt');
    assert.equal(findLock([deep, own], 'a/b.txt'), own);
    assert.equal(findLock([deep, own], 'a/c/d.txt'), deep);
    assert.equal(findLock([lockOf('a/')], 'a/b.txt'), undefined, 'A shallow lock covers only the list of names.');
    assert.equal(findLock([deep], 'ab/c.txt'), undefined);
    assert.equal(findLock([lockOf('a.txt', { depth: 'infinity' })], 'a.txt/b'), undefined);
  });

  it('can be ended by its user, and by users with the permission to manage', () => {
    const lock = lockOf('a/b.txt', { user: 'ann' });
    assert.ok(canUnlock(lock, { account: accountOf('ann'), permissions: permissionsIn() }));
    assert.ok(canUnlock(lock, { account: accountOf('bob'), permissions: permissionsIn('a/') }));
    assert.ok(!canUnlock(lock, { account: accountOf('bob'), permissions: permissionsIn('b/') }));
    assert.ok(!canUnlock(lockOf('a/b.txt'), { account: accountOf(null), permissions: permissionsIn() }));
    assert.ok(canUnlock(lockOf('a/b.txt'), { account: null, permissions: permissionsIn('a/') }));
  });

  it('is read again when it expires, but not continuously if the clocks differ', () => {
    assert.equal(delayUntilExpiry([], NOW), undefined);
    const later = lockOf('a', { expiresAt: '2026-11-27T13:00:00Z' });
    assert.equal(delayUntilExpiry([later, lockOf('b')], NOW), 601_000);
    assert.equal(delayUntilExpiry([lockOf('b', { expiresAt: '2026-11-27T11:00:00Z' })], NOW), 30_000);
  });
});

const language = await createEnglish();

describe('Unlocking', () => {
  /** Unlocks one of two locks, and returns what happened. */
  async function unlockOne(failure?: ServiceError) {
    const [lock, other] = [lockOf('a/b.txt', { id: 'x/y' }), lockOf('a/c.txt')];
    const dav = { locks: signal<readonly Lock[]>([lock, other]), changes: signal(0) };
    const shown: string[] = [];
    const sent: string[] = [];
    const service = {
      async send<Body>(endpoint: string, { method = 'GET' }: SendOptions<Body> = {}): Promise<Body> {
        sent.push(`${method} ${endpoint}`);
        if (failure) throw failure;
        return {} as Body;
      },
    };
    const messages = {
      show: ({ text, detail = '' }: { text: string; detail?: string | undefined }) =>
        shown.push(withoutIsolates(`${text}${detail && ` ${detail}`}`)),
    };
    await unlock({ dav, service, messages, language: language.value }, lock);
    return { sent, shown, remaining: dav.locks.value.map(({ path }) => path), changes: dav.changes.value };
  }

  it('ends the lock, and reads the locks again', async () => {
    assert.deepEqual(await unlockOne(), {
      sent: ['DELETE -/locks/x%2Fy'],
      shown: ['“b.txt” unlocked'],
      remaining: ['a/c.txt'],
      changes: 1,
    });
  });

  it('succeeds if the lock has ended in the meantime', async () => {
    const { shown, remaining } = await unlockOne(refusal('not-found', ''));
    assert.deepEqual([shown, remaining], [['“b.txt” unlocked'], ['a/c.txt']]);
  });

  it('says why it failed', async () => {
    const { shown, remaining } = await unlockOne(refusal('permission-denied', ''));
    assert.deepEqual(shown, ['Couldn’t unlock “b.txt” You don’t have permission to do this.']);
    assert.deepEqual(remaining, ['a/b.txt', 'a/c.txt']);
  });
});
