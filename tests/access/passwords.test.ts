import assert from 'node:assert/strict';
import { scryptSync } from 'node:crypto';
import { describe, it } from 'node:test';
import { hashPassword, MAX_PASSWORD_BYTES, readPasswordHash, verifyPassword } from '../../src/access/credentials.ts';
import { isStoreError } from '../../src/model/error.ts';

/** A hash with a low cost, made by Node.js alone. */
function cheapHash(password: string, { N = 1024, r = 1, p = 1 } = {}): string {
  const salt = Buffer.alloc(16, 7);
  const key = scryptSync(password, salt, 32, { N, r, p });
  return `scrypt:N=${N},r=${r},p=${p}:${salt.toString('base64url')}:${key.toString('base64url')}`;
}

describe('The hash of a password', () => {
  it('has a random salt and matches its password', async () => {
    const [one, other] = await Promise.all([hashPassword('correct horse'), hashPassword('correct horse')]);
    assert.match(one, /^scrypt:N=32768,r=8,p=3:[\w-]{22}:[\w-]{43}$/);
    assert.notEqual(one.split(':')[2], other.split(':')[2]);
    assert.ok(await verifyPassword('correct horse', one));
  });

  it('is standard scrypt output that other programs can create', async () => {
    const hash = cheapHash('p\u00e4ss w\u00f6rd \u{1f600}');
    assert.ok(await verifyPassword('p\u00e4ss w\u00f6rd \u{1f600}', hash));
  });

  it('is equal for composed and decomposed characters', async () => {
    assert.ok(await verifyPassword('e\u0301', cheapHash('\u00e9')));
    assert.ok(!(await verifyPassword('e', cheapHash('\u00e9'))));
  });

  for (const [what, password] of [
    ['another case', 'Secret'],
    ['a beginning of it', 'secre'],
    ['more than it', 'secret\0'],
    ['a space after it', 'secret '],
    ['nothing', ''],
    ['more than the longest password', 'x'.repeat(MAX_PASSWORD_BYTES + 1)],
    ['ten million characters', 'x'.repeat(10_000_000)],
  ] as const) {
    it(`does not match ${what}`, async () => {
      assert.equal(await verifyPassword(password, cheapHash('secret')), false);
    });
  }

  it('accepts the maximum length and rejects longer, empty and control-character passwords', async () => {
    const longest = 'é'.repeat(MAX_PASSWORD_BYTES / 2);
    assert.ok(await verifyPassword(longest, cheapHash(longest)));
    await assert.rejects(hashPassword(`${longest}x`), RangeError);
    await assert.rejects(hashPassword(''), RangeError);
    for (const control of ['\0', '\n', '\t', '\u007f', '\u0085']) {
      await assert.rejects(hashPassword(`a${control}b`), RangeError);
      assert.ok(!(await verifyPassword(`a${control}b`, cheapHash(`a${control}b`))));
    }
  });
});

describe('Verification without a hash', () => {
  it('rejects every password', async () => {
    assert.equal(await verifyPassword('\0', undefined), false);
  });
});

describe('Concurrent password verifications', () => {
  it('are queued, and fail as unavailable when the queue is full, with or without a hash', async () => {
    const hash = cheapHash('secret');
    const requested = Array.from({ length: 72 }, (_, index) =>
      verifyPassword('secret', index === 71 ? undefined : hash, `client ${index % 9}`),
    );
    const outcomes = await Promise.allSettled(requested);
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    assert.ok(outcomes.slice(0, 66).every((outcome) => outcome.status === 'fulfilled' && outcome.value));
    assert.equal(refused.length, 6);
    for (const { reason } of refused) assert.ok(isStoreError(reason, 'unavailable') && reason.retryAfter === 1);
    assert.ok(await verifyPassword('secret', hash), 'There is room again.');
  });
});

describe('The parser of password hashes', () => {
  const [salt, key] = ['a'.repeat(22), 'b'.repeat(43)];
  for (const cost of ['N=32768,r=8,p=3', 'N=131072,r=8,p=1', 'N=65536,r=8,p=2', 'N=16384,r=8,p=5', 'N=1024,r=1,p=1']) {
    it(`accepts the cost ${cost}`, () => assert.ok('cost' in readPasswordHash(`scrypt:${cost}:${salt}:${key}`)));
  }

  for (const hash of [
    '',
    'hunter2',
    `scrypt:N=2097152,r=8,p=1:${salt}:${key}`,
    `scrypt:N=131072,r=16,p=1:${salt}:${key}`,
    `scrypt:N=1024,r=8,p=999:${salt}:${key}`,
    `scrypt:N=32768,r=8,p=99999999:${salt}:${key}`,
    `scrypt:N=32768,r=999,p=3:${salt}:${key}`,
    `scrypt:N=32767,r=8,p=3:${salt}:${key}`,
    `scrypt:N=0,r=8,p=3:${salt}:${key}`,
    `scrypt:N=1,r=8,p=3:${salt}:${key}`,
    `scrypt:N=32768,r=0,p=3:${salt}:${key}`,
    `scrypt:N=32768,r=8,p=0:${salt}:${key}`,
    `scrypt:N=32768,r=8,p=-3:${salt}:${key}`,
    `scrypt:N=1e4,r=8,p=3:${salt}:${key}`,
    `scrypt:N=32768,r=8,p=3:a:${key}`,
    `scrypt:N=32768,r=8,p=3:${salt}:b`,
    `scrypt:N=32768,r=8,p=3:${salt}:`,
    `scrypt:N=32768,r=8,p=3:${'a'.repeat(1e6)}:${key}`,
    `scrypt:N=32768,r=8,p=3:${salt}:${key}\n`,
    ` scrypt:N=32768,r=8,p=3:${salt}:${key}`,
    `bcrypt:N=32768,r=8,p=3:${salt}:${key}`,
  ]) {
    it(`rejects ${JSON.stringify(hash.slice(0, 60))} without revealing it`, () => {
      const reading = readPasswordHash(hash);
      assert.ok('problem' in reading);
      assert.doesNotMatch(reading.problem, /hunter2|aaaa|bbbb/);
    });
  }
});
