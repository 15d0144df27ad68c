import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  accessOf,
  EMPTY_TOKEN,
  hasExpired,
  invalidFields,
  newTokenOf,
} from '../../../web/src/model/app-tokens/token-form.ts';

const NOW = new Date(2026, 10, 27, 12);

describe('The form of an app token', () => {
  it('sends the name without outer spaces, the folder, the permissions and the expiry', () => {
    assert.deepEqual(newTokenOf({ ...EMPTY_TOKEN, name: ' Phone\n' }, NOW), {
      name: 'Phone',
      folder: '/',
      permissions: ['read', 'write', 'manage'],
    });
    const form = { ...EMPTY_TOKEN, name: 'Scanner', folder: 'Scans/', access: 'add', expiry: 'days30' } as const;
    assert.deepEqual(newTokenOf(form, NOW), {
      name: 'Scanner',
      folder: 'Scans/',
      permissions: ['read', 'write'],
      expiresAt: new Date(2026, 11, 27, 12).toISOString(),
    });
  });

  it('is invalid without a name, or with a date that is not in the future', () => {
    assert.deepEqual([...invalidFields({ ...EMPTY_TOKEN, name: ' \t' }, NOW)], ['name']);
    const withDate = (date: string) => [...invalidFields({ ...EMPTY_TOKEN, name: 'a', expiry: 'date', date }, NOW)];
    assert.deepEqual(withDate('2026-11-27'), []);
    assert.deepEqual(withDate('2026-11-26'), ['date']);
    assert.deepEqual(withDate(''), ['date']);
  });

  it('describes existing tokens', () => {
    assert.equal(accessOf({ permissions: ['read'] }), 'view');
    assert.equal(accessOf({ permissions: ['read', 'write', 'manage'] }), 'all');
    assert.equal(accessOf({ permissions: ['write'] }), undefined);
    assert.equal(hasExpired({}, NOW), false);
    assert.equal(hasExpired({ expiresAt: NOW.toISOString() }, NOW), true);
  });
});
