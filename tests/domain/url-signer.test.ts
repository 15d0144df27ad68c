import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseFile } from '../../src/domain/path.ts';
import { createUrlSigner, MIN_KEY_BYTES } from '../../src/domain/url-signer.ts';
import { NAMES } from '../contract/names.ts';

const KEY = Buffer.alloc(MIN_KEY_BYTES, 'k');
const FILE = parseFile('a/b c.txt');
const NOW = 1_700_000_000_000;
const LATER = NOW / 1000 + 60;

const denied = (message: RegExp) => ({ name: 'StoreError', kind: 'denied', message });

describe('a signed URL', () => {
  const signer = createUrlSigner(KEY);
  const query = (download = false) => signer.sign({ file: FILE, expires: LATER, download }).toString();

  it('grants what was signed, for every name, as an attachment or not', () => {
    for (const name of NAMES) {
      for (const download of [false, true]) {
        const grant = { file: parseFile(name), expires: LATER, download };
        assert.deepEqual(signer.verify(grant.file, signer.sign(grant).toString(), NOW), grant);
      }
    }
  });

  it('is good until its last moment, and not after', () => {
    assert.ok(signer.verify(FILE, query(), LATER * 1000 - 1));
    for (const now of [LATER * 1000, LATER * 1000 + 1, LATER * 2000]) {
      assert.throws(() => signer.verify(FILE, query(), now), denied(/has expired/));
    }
  });

  it('grants nothing of another file, nor by another key', () => {
    for (const other of ['a/b c.txt2', 'a/b', 'b c.txt', 'A/b c.txt', 'a/b%20c.txt']) {
      assert.throws(() => signer.verify(parseFile(other), query(), NOW), denied(/not valid/), other);
    }
    const stranger = createUrlSigner(Buffer.alloc(MIN_KEY_BYTES, 'x'));
    const forged = stranger.sign({ file: FILE, expires: LATER, download: false }).toString();
    assert.throws(() => signer.verify(FILE, forged, NOW), denied(/not valid/));
  });

  it('does not take a line of the query for a part of the path, nor the other way round', () => {
    const long = signer.sign({ file: parseFile('x'), expires: LATER, download: true }).toString();
    assert.throws(() => signer.verify(parseFile('download=1'), long, NOW), denied(/not valid/));
  });

  it('is refused when anything in it is altered, added, left out or written otherwise', () => {
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
      // The last digit of base64url has bits that stand for nothing, and may not be altered either.
      altered.push(good.replace(signature, signature.slice(0, index) + other + signature.slice(index + 1)));
    }
    for (const text of altered) {
      assert.notEqual(text, good);
      assert.throws(() => signer.verify(FILE, text, NOW), denied(/not valid/), text);
    }
    assert.ok(signer.verify(FILE, good, NOW));
  });

  it('says that an altered one is not valid rather than that it has expired: nobody learns when a true one would', () => {
    const old = signer.sign({ file: FILE, expires: 1, download: false });
    assert.throws(() => signer.verify(FILE, old.toString(), NOW), denied(/has expired/));
    old.set('expires', '2');
    assert.throws(() => signer.verify(FILE, old.toString(), NOW), denied(/not valid/));
  });
});
