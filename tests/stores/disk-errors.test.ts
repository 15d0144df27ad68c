import assert from 'node:assert/strict';
import { constants } from 'node:os';
import { describe, it } from 'node:test';
import { getSystemErrorName } from 'node:util';
import { type ErrorKind, isStoreError } from '../../src/model/error.ts';
import { toStoreError } from '../../src/stores/disk/errors.ts';
import { file } from '../contract/bytes.ts';

/** Returns the code that Node.js gives an error: libuv has no name for some of them. */
function codeFromNode(name: string): string {
  const number = name === 'EUCLEAN' ? 117 : constants.errno[name as keyof typeof constants.errno];
  return getSystemErrorName(-number);
}

describe('An error of the file system', () => {
  const kinds: Readonly<Record<string, readonly [ErrorKind, RegExp, number?]>> = {
    ENOENT: ['not-found', /"a"/],
    ENOTDIR: ['not-found', /"a"/],
    ELOOP: ['not-found', /"a"/],
    ENXIO: ['not-found', /"a"/],
    ENODEV: ['not-found', /"a"/],
    EISDIR: ['wrong-kind', /"a"/],
    EACCES: ['denied', /operating system denied access to "a"/],
    EPERM: ['denied', /operating system/],
    EROFS: ['denied', /operating system/],
    ENAMETOOLONG: ['invalid-path', /"a" or one of its names is too long/],
    EINVAL: ['invalid-path', /can't hold a file of this name/],
    EILSEQ: ['invalid-path', /can't hold a file of this name/],
    ENOSPC: ['unavailable', /disk is full/, 60],
    EDQUOT: ['unavailable', /disk is full/, 60],
    EFBIG: ['too-large', /larger than the file system allows/],
    EMFILE: ['unavailable', /is busy, or the limit of open files is reached/, 2],
    ENFILE: ['unavailable', /is busy, or the limit of open files is reached/, 2],
    EAGAIN: ['unavailable', /is busy, or the limit of open files is reached/, 2],
    EBUSY: ['unavailable', /is busy, or the limit of open files is reached/, 2],
    ESTALE: ['unavailable', /is busy, or the limit of open files is reached/, 2],
    ETIMEDOUT: ['unavailable', /is busy, or the limit of open files is reached/, 2],
    EIO: ['unavailable', /an error for "a"/],
    EUCLEAN: ['unavailable', /an error for "a"/],
    EBADMSG: ['unavailable', /an error for "a"/],
    EXDEV: ['other-file-system', /another file system/],
  };
  for (const [code, [kind, message, retryAfter]] of Object.entries(kinds)) {
    it(`${code} is reported as ${kind}${retryAfter === undefined ? '' : `, to be retried after ${retryAfter} s`}`, () => {
      const cause = Object.assign(new Error(code), { code: codeFromNode(code) });
      const error = toStoreError(cause, file('a'));
      assert.ok(isStoreError(error, kind), String(error));
      assert.match(error.message, message);
      assert.equal(error.retryAfter, retryAfter);
      assert.equal(error.cause, cause);
    });
  }

  it('an error without a code is passed on unchanged', () => {
    for (const error of [new Error('other'), 'text']) {
      assert.equal(toStoreError(error, file('a')), error);
    }
  });
});
