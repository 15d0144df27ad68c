import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SignedUrls } from '../../src/http/signed-urls.ts';
import { parseFile } from '../../src/model/path.ts';
import { type DownloadGrant, MIN_KEY_BYTES } from '../../src/model/url-signer.ts';
import { NAMES } from '../contract/names.ts';

const KEY = Buffer.alloc(MIN_KEY_BYTES, 'k');
const FILE = parseFile('a/b c.txt');
const NOW = 1_700_000_000_000;
const LATER = NOW / 1000 + 60;

const queryOf = (signedUrls: SignedUrls, grant: DownloadGrant) => signedUrls.sign(grant).split('?')[1] ?? '';

const INVALID = { name: 'HttpError', code: 'invalid-signature' };
const EXPIRED = { name: 'HttpError', code: 'url-expired' };

describe('A signed URL', () => {
  const signer = new SignedUrls(KEY);
  const query = (download = false) => queryOf(signer, { file: FILE, expires: LATER, download });

  it('verifies as the grant that was signed, for every name and disposition', () => {
    for (const name of NAMES) {
      for (const download of [false, true]) {
        const grant = { file: parseFile(name), expires: LATER, download };
        assert.deepEqual(signer.verify(grant.file, queryOf(signer, grant), NOW), grant);
      }
    }
  });

  it('is valid until the millisecond of its expiry', () => {
    assert.ok(signer.verify(FILE, query(), LATER * 1000 - 1));
    for (const now of [LATER * 1000, LATER * 1000 + 1, LATER * 2000]) {
      assert.throws(() => signer.verify(FILE, query(), now), EXPIRED);
    }
  });

  it('is denied for another file or another key', () => {
    for (const other of ['a/b c.txt2', 'a/b', 'b c.txt', 'A/b c.txt', 'a/b%20c.txt']) {
      assert.throws(() => signer.verify(parseFile(other), query(), NOW), INVALID, other);
    }
    const otherSigner = new SignedUrls(Buffer.alloc(MIN_KEY_BYTES, 'x'));
    const forged = queryOf(otherSigner, { file: FILE, expires: LATER, download: false });
    assert.throws(() => signer.verify(FILE, forged, NOW), INVALID);
  });

  it('does not confuse the query with the path in the signed text', () => {
    const signed = queryOf(signer, { file: parseFile('x'), expires: LATER, download: true });
    assert.throws(() => signer.verify(parseFile('download=1'), signed, NOW), INVALID);
  });

  it('is denied when a parameter is altered, added, removed, reordered or encoded differently', () => {
    const good = query();
    const signature = new URLSearchParams(good).get('signature') ?? '';
    const altered = [
      good.replace(String(LATER), String(LATER + 1)),
      good.replace(String(LATER), `0${LATER}`),
      good.replace(String(LATER), `${LATER}.0`),
      good.replace(String(LATER), `+${LATER}`),
      good.replace(String(LATER), `${LATER / 10}e1`),
      good.replace(String(LATER), 'Infinity'),
      good.replace(String(LATER), ''),
      good.replace(signature, `${signature}A`),
      good.replace(signature, signature.slice(1)),
      good.replace(signature, signature.toUpperCase()),
      good.replace(signature, ''),
      good.replace('expires', 'Expires'),
      `${good}&download=1`,
      good.replace('&', '&download=1&'),
      good.replace('&', '&download=0&'),
      `${good}&x=y`,
      `x=y&${good}`,
      `${good}&expires=${LATER}`,
      `${good}&signature=${signature}`,
      good.split('&').toReversed().join('&'),
      `expires=${LATER}`,
      `?${good}`,
      `${good}&`,
      `&${good}`,
      `${good}#`,
      `${good}%`,
      good.replace('expires', '%65xpires'),
      good.replace('e', 'E'),
      good.replace('&', ';'),
      good.replace('&', '&&'),
      good.replace('=', '=+'),
      `signature=${signature}`,
      '',
      query(true).replace('&download=1', ''),
      query(true).replace('download=1', 'download=2'),
    ];
    for (const [index] of signature.split('').entries()) {
      const other = signature[index] === 'A' ? 'B' : 'A';
      // The last base64url digit has unused bits. Altering them must also be detected.
      altered.push(good.replace(signature, signature.slice(0, index) + other + signature.slice(index + 1)));
    }
    for (const text of altered) {
      assert.notEqual(text, good);
      assert.throws(() => signer.verify(FILE, text, NOW), INVALID, text);
    }
    assert.ok(signer.verify(FILE, good, NOW));
  });

  it('that is altered and expired is reported as invalid, so its expiry does not leak', () => {
    const old = new URLSearchParams(queryOf(signer, { file: FILE, expires: 1, download: false }));
    assert.throws(() => signer.verify(FILE, old.toString(), NOW), EXPIRED);
    old.set('expires', '2');
    assert.throws(() => signer.verify(FILE, old.toString(), NOW), INVALID);
  });
});
