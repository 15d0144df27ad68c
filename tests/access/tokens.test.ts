import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { createToken, hashToken, isToken } from '../../src/access/credentials.ts';

describe('A token', () => {
  it('has 256 random bits and an identifying prefix', () => {
    const tokens = Array.from({ length: 100 }, () => createToken().token);
    assert.equal(new Set(tokens).size, tokens.length);
    for (const token of tokens) {
      assert.match(token, /^holdall_[\w-]{43}$/);
      assert.equal(Buffer.from(token.slice('holdall_'.length), 'base64url').length, 32);
      assert.ok(isToken(token));
    }
    assert.ok(!isToken('eyJhbGciOiJSUzI1NiJ9.e30.AAAA'));
  });

  it('is stored as a SHA-256 hash that other programs can create', () => {
    const { token, hash } = createToken();
    assert.match(hash, /^sha256:[\w-]{43}$/);
    assert.equal(hash, `sha256:${createHash('sha256').update(token).digest('base64url')}`);
    assert.equal(hashToken(token), hash);
    assert.notEqual(hashToken(`${token} `), hash);
  });
});
