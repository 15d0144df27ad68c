import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { assertFailure, send } from '../client.ts';
import { createBrowser } from './browser.ts';
import { type Pair, startPair } from './provider-pair.ts';
import { startSignedInService } from './signed-in-service.ts';

let pair: Pair;
before(async () => {
  pair = await startPair();
});
after(() => pair.stop());

describe('Sign-in with an identity provider', () => {
  it('returns only to locations of the service', async () => {
    for (const place of [
      '/',
      '/photos/',
      '/..',
      '//evil.example.org/',
      '///evil.example.org',
      '/\\evil.example.org',
      '\\\\evil.example.org',
      '/\t/evil.example.org',
      'ht\ntps://evil.example.org',
      '\\/evil.example.org',
      'photos\\x',
      'photos\u0001x',
      'http:\\\\evil.example.org',
    ]) {
      const response = await send(pair.service.port, `/-/sign-in?return=${encodeURIComponent(place)}`);
      assertFailure(response, 400, /outside the service/);
      assert.equal(response.headers['set-cookie'], undefined, place);
    }
    assertFailure(await send(pair.service.port, '/-/sign-in?return=a&return=b'), 400, /more than once/);
    const browser = createBrowser();
    // Unchanged, these are names of files in the service.
    for (const place of ['notes:2026/x/', 'https://evil.example.org/', 'javascript:alert(1)', '@evil.example.org']) {
      const { url } = await browser.visit(`${pair.publicUrl}/-/sign-in?return=${encodeURIComponent(place)}`);
      assert.equal(url.href, `${pair.publicUrl}/${place}`);
    }
    const { url: otherUrl } = await browser.visit(`${pair.publicUrl}/-/sign-in?return=x/../..//evil.example.org/`);
    assert.equal(otherUrl.origin, pair.publicUrl);
    const landed = await browser.visit(`${pair.publicUrl}/-/sign-in?return=${'x'.repeat(3000)}`);
    assert.equal(landed.url.href, `${pair.publicUrl}/`);
  });
});

describe('A service below a path of a proxy', () => {
  it('is returned to at that path, and nowhere else', async () => {
    const publicUrl = 'https://example.org/files';
    const below = await startSignedInService({
      publicUrl,
      provider: {
        issuer: pair.provider.issuer,
        ...pair.provider.client,
        scope: 'openid',
        nameClaim: 'email',
        groupsClaim: 'groups',
      },
    });
    const request = (place: string) =>
      send(below.port, `/-/sign-in?return=${encodeURIComponent(place)}`, { headers: { host: 'example.org' } });
    try {
      const response = await request('photos/');
      const location = new URL(response.headers.location ?? '');
      assert.equal(location.searchParams.get('redirect_uri'), `${publicUrl}/-/sign-in/callback`);
      // The proxy is not trusted, but the public URL has HTTPS.
      assert.match(
        response.headers['set-cookie']?.[0] ?? '',
        /^__Host-holdall-sign-in-[\da-f]{8}=.*; Path=\/; HttpOnly; Secure; /,
      );
      for (const place of ['/', '..', '../', '%2e%2e/', 'a/../../', '/files/x', './../filesx/', '?/..//../..']) {
        const expected = place === '?/..//../..' ? 302 : 400;
        assert.equal((await request(place)).status, expected, place);
      }
      for (const place of ['', 'a/../b', '?preview=a%2F..', 'notes:2026/x/']) {
        assert.equal((await request(place)).status, 302, place);
      }
    } finally {
      await below.stop();
    }
  });
});
