import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ERROR_CODES, type ErrorCode } from '../../../src/http/error-codes.ts';
import { ServiceError, serviceErrorOf } from '../../../web/src/platform/service/service-error.ts';
import { LANGUAGE_TAGS } from '../../../web/src/platform/text/supported-languages.ts';
import { createFullLanguage, withoutIsolates } from './languages.ts';

const CODES = Object.keys(ERROR_CODES) as readonly ErrorCode[];
const english = (await createFullLanguage('en')).value;

describe('The reason of a failed request', () => {
  for (const tag of LANGUAGE_TAGS) {
    it(`is a message of its own for each error code of the service, in ${tag}`, async () => {
      const language = (await createFullLanguage(tag)).value;
      for (const code of CODES) {
        const { status } = ERROR_CODES[code];
        const reason = language.retryReasonOf(
          serviceErrorOf(status, { success: false, code, error: 'Server text.' }, null),
        );
        assert.ok(Object.values(language.text.errors).includes(reason), `${code}: ${reason}`);
        if (tag !== 'en') assert.ok(!Object.values(english.text.errors).includes(reason), `${code}: ${reason}`);
      }
    });
  }

  const reasonOf = (status: number, body?: object, retryAfter: string | null = null) =>
    withoutIsolates(english.reasonOf(serviceErrorOf(status, body, retryAfter)));

  it('says when to try again, if that can help', () => {
    const busy = { success: false, code: 'store-busy', error: '' };
    assert.equal(reasonOf(503, busy, '90'), 'The storage is busy. Try again in 2 min.');
    assert.equal(reasonOf(503, busy), 'The storage is busy. Try again in a moment.');
    const unknown = { success: false, code: 'outcome-unknown', error: '' };
    assert.match(reasonOf(503, unknown, '5'), /before you try again\.$/);
    const full = { success: false, code: 'store-full', error: '' };
    const advice = 'The storage is full. Delete files permanently or empty the trash, then try again.';
    assert.equal(reasonOf(507, full, '5'), advice);
    const denied = { success: false, code: 'permission-denied', error: '' };
    assert.equal(reasonOf(403, denied, '90'), 'You don’t have permission to do this.');
  });

  it('says what helps if an item would have to move to another file system, or the disk of the database is full', () => {
    const elsewhere = { success: false, code: 'other-file-system', error: '' };
    const advice = 'This item can’t be moved to another file system. Copy it, or delete it permanently.';
    assert.equal(reasonOf(409, elsewhere), advice);
    const stateFull = { success: false, code: 'state-full', error: '' };
    assert.equal(reasonOf(507, stateFull), 'The server is out of space. Contact your administrator.');
  });

  it('of a retry in progress has no advice', () => {
    const retryReasonOf = (code: ErrorCode) =>
      english.retryReasonOf(serviceErrorOf(ERROR_CODES[code].status, { success: false, code, error: '' }, '5'));
    assert.equal(retryReasonOf('store-busy'), 'The storage is busy.');
    assert.equal(retryReasonOf('outcome-unknown'), 'Can’t reach the storage.');
  });

  it('names the user who has locked an item, until when, and what to do', () => {
    const lock = { path: 'Team/plan.docx', user: 'bob', expiresAt: '2026-11-27T12:00:00Z' };
    const locked = { success: false, code: 'locked', error: '', lock };
    assert.match(
      reasonOf(409, locked),
      /^“plan\.docx” is locked by bob until \d+:\d\d\s[AP]M\. Try again later, or unlock it in its details\.$/,
    );
    const anonymous = { ...locked, lock: { path: '', expiresAt: lock.expiresAt } };
    assert.match(reasonOf(409, anonymous), /^“Files” is locked until \d+:/);
  });

  it('names the limit of an upload, if it is known', () => {
    const error = new ServiceError(413, '', { code: 'upload-too-large', limit: 5_000_000 });
    assert.match(withoutIsolates(english.reasonOf(error)), /5 MB/);
    assert.equal(
      reasonOf(413, { success: false, code: 'upload-too-large', error: '' }),
      'This file is larger than the upload limit.',
    );
  });

  it('follows the status of a response without a known code, such as that of a proxy', () => {
    assert.equal(reasonOf(413), 'This file is too large for the storage.');
    assert.equal(reasonOf(502), 'The server isn’t available right now. Try again in a moment.');
    assert.equal(reasonOf(418), 'The server returned an error (418).');
    assert.equal(
      reasonOf(409, { success: false, code: 'brand-new', error: 'New.' }),
      'The server returned an error (409).',
    );
    assert.equal(
      reasonOf(418, { success: false, code: 'constructor', error: '' }),
      'The server returned an error (418).',
    );
  });

  it('is the connection without a response', () => {
    assert.equal(english.reasonOf(new ServiceError(0, '')), 'Can’t reach the server. Check your connection.');
  });
});
