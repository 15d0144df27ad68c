import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it, mock } from 'node:test';
import { PERMISSIONS } from '../../../src/access/policy.ts';
import { ROOT } from '../../../src/model/path.ts';
import { findFreePort } from '../../../testing/servers/free-port.ts';
import { assertFailure, type HttpResponse, jsonOf, send } from '../client.ts';
import { type Browser, createBrowser } from './browser.ts';
import { ANN, type Pair, startPair, untilCallback } from './provider-pair.ts';
import { person, startSignedInService } from './signed-in-service.ts';

let pair: Pair;
before(async () => {
  pair = await startPair({ key: randomBytes(32) });
});
after(() => pair.stop());

const callBack = (url: URL, browser = createBrowser()): Promise<HttpResponse> =>
  browser.send(Number(url.port), url.pathname + url.search);

const nameOf = async ({ service }: Pair, browser = createBrowser()) =>
  jsonOf(await browser.send(service.port, '/-/session'))['name'];

/** Returns the names of the cookies of the service. The provider, on another port of the host, also sets some. */
const cookiesOfService = ({ cookies }: Browser) => [...cookies.keys()].filter((name) => name.startsWith('holdall'));

describe('Sign-in with an identity provider', () => {
  it('redirects to the provider and returns the user to the same location, signed in', async () => {
    const browser = createBrowser();
    const session = jsonOf(await browser.send(pair.service.port, '/-/session'));
    assert.deepEqual(session['signIn'], { password: false, provider: true });
    const landed = await browser.visit(
      `${pair.publicUrl}/-/sign-in?return=${encodeURIComponent('?preview=a%26b.jpg')}`,
    );
    assert.equal(landed.url.href, `${pair.publicUrl}/?preview=a%26b.jpg`);
    assert.equal(landed.status, 200);
    assert.equal(await nameOf(pair, browser), 'ann@example.org');
    assert.deepEqual(cookiesOfService(browser), [pair.service.authenticators.sessionCookie]);
    const { event, action, name, outcome } =
      pair.service.events.findLast(({ event: kind }) => kind === 'sign-in') ?? {};
    assert.deepEqual([event, action, name, outcome], ['sign-in', 'provider', 'ann@example.org', 'done']);
  });

  it('sends a new PKCE challenge, state and nonce each time, and keeps them secret', async () => {
    const first = await send(pair.service.port, '/-/sign-in');
    const second = await send(pair.service.port, '/-/sign-in');
    assert.equal(first.status, 302);
    assert.equal(first.headers['cache-control'], 'no-store');
    const [cookie = ''] = first.headers['set-cookie'] ?? [];
    assert.match(cookie, /^holdall-sign-in-[\da-f]{8}=[\w.-]+; Max-Age=600; Path=\/; HttpOnly; SameSite=Lax$/);
    const [one, other] = [first, second].map(({ headers }) => new URL(headers.location ?? '').searchParams);
    assert.equal(one?.get('code_challenge_method'), 'S256');
    assert.equal(one?.get('redirect_uri'), `${pair.publicUrl}/-/sign-in/callback`);
    for (const name of ['state', 'nonce', 'code_challenge']) {
      assert.match(one?.get(name) ?? '', /^[\w-]{43}$/);
      assert.notEqual(one?.get(name), other?.get(name), name);
      assert.equal(cookie.includes(one?.get(name) ?? ''), false, name);
    }
  });

  it('uses the groups and the username of the ID token or the user info', async () => {
    const grants = [{ folder: ROOT, to: { kind: 'group', name: 'ops' }, permissions: PERMISSIONS }] as const;
    for (const options of [{ claimsInIdToken: true }, { claimsInIdToken: false }, { secretInBody: true }]) {
      const other = await startPair({ provider: options, settings: { nameClaim: 'preferred_username' }, grants });
      try {
        const browser = createBrowser();
        assert.equal((await browser.visit(`${other.publicUrl}/-/sign-in`)).status, 200, JSON.stringify(options));
        assert.equal(await nameOf(other, browser), 'ann');
        assert.equal(other.provider.tokenRequestAuth, options.secretInBody ? undefined : 'Basic');
        const requestsUserInfo = options.claimsInIdToken !== true;
        assert.equal(other.provider.requested.includes('/me'), requestsUserInfo);
        other.provider.user = { claims: { ...ANN, groups: ['opsx'] } };
        assert.equal((await createBrowser().visit(`${other.publicUrl}/-/sign-in`)).status, 403);
      } finally {
        await other.stop();
      }
    }
  });

  it('accepts an e-mail address only if it is verified', async () => {
    for (const claims of [
      { ...ANN, email_verified: false },
      { ...ANN, email_verified: 'true' },
      { email: 'ann@example.org' },
      { email_verified: true },
      { ...ANN, email: 'a\nb' },
    ]) {
      pair.provider.user = { claims };
      const browser = createBrowser();
      const response = await callBack(await untilCallback(pair, browser), browser);
      assertFailure(response, 403, /no verified e-mail address/);
      assert.deepEqual(cookiesOfService(browser), []);
    }
    pair.provider.user = { claims: ANN };
  });

  it('returns an error if the groups do not fit into a cookie', async () => {
    pair.provider.user = { claims: { ...ANN, groups: Array.from({ length: 300 }, (_, index) => `group ${index}`) } };
    const browser = createBrowser();
    assertFailure(await callBack(await untilCallback(pair, browser), browser), 403, /more groups \(300\)/);
    pair.provider.user = { claims: ANN };
  });

  it('returns its own error message if the provider denies access', async () => {
    for (const [refusal, status, error] of [
      ['access_denied', 403, /denied access to this service/],
      ['login_required', 400, /the error "login_required"/],
      ['server_error', 503, /identity provider is unavailable/],
    ] as const) {
      pair.provider.user = { refusal };
      const browser = createBrowser();
      const response = await callBack(await untilCallback(pair, browser), browser);
      assertFailure(response, status, error);
      assert.doesNotMatch(response.body.toString(), /<b>/);
    }
    pair.provider.user = { claims: ANN };
  });

  it('rejects a callback of a sign-in in another browser', async () => {
    const browser = createBrowser();
    const url = await untilCallback(pair, browser);
    assertFailure(await callBack(url), 400, /began in another browser/);
    const victim = createBrowser();
    await untilCallback(pair, victim);
    assertFailure(await callBack(url, victim), 400, /belongs to another sign-in/);
    assert.equal(await nameOf(pair, victim), null);
  });

  it('accepts a callback once, and only unaltered', async () => {
    const change = (alter: (query: URLSearchParams) => void) => async () => {
      const browser = createBrowser();
      const url = await untilCallback(pair, browser);
      alter(url.searchParams);
      const response = await callBack(url, browser);
      assert.equal(await nameOf(pair, browser), null);
      return response;
    };
    for (const attempt of [
      change((query) => query.delete('state')),
      change((query) => query.set('state', 'x')),
      change((query) => query.append('state', query.get('state') ?? '')),
      change((query) => query.set('iss', 'https://evil.example.org')),
      change((query) => query.set('code', 'x')),
      change((query) => query.delete('code')),
      change((query) => query.set('response', 'a.b.c')),
      change((query) => query.set('error', 'access\u0000<script>')),
    ]) {
      const response = await attempt();
      assertFailure(response, 400, /Sign in again\.$/);
    }
    const browser = createBrowser();
    const url = await untilCallback(pair, browser);
    const kept = new Map(browser.cookies);
    assert.equal((await callBack(url, browser)).status, 302);
    // An attacker who recorded the whole sign-in repeats the request.
    assertFailure(await callBack(url, createBrowser(kept)), 400, /expired or was already used/);
    assertFailure(await send(pair.service.port, '/-/sign-in/callback?code=x&state=y'), 400, /began in another browser/);
    const name = [...kept.keys()].find((each) => each.startsWith('holdall-sign-in-'));
    const odd = { cookie: `${name}=${'x'.repeat(5000)}` };
    assertFailure(
      await send(pair.service.port, '/-/sign-in/callback?%ff', { headers: odd }),
      400,
      /began in another browser/,
    );
  });

  it('shows errors in the web UI', async () => {
    const response = await send(pair.service.port, '/-/sign-in/callback', {
      headers: { accept: 'text/html,*/*;q=0.8' },
    });
    assert.equal(response.status, 400);
    assert.match(response.headers['content-type'] ?? '', /^text\/html/);
    assert.match(response.body.toString(), /This sign-in began in another browser/);
  });

  it('expires after ten minutes', async () => {
    const browser = createBrowser();
    const url = await untilCallback(pair, browser);
    mock.timers.enable({ apis: ['Date'], now: Date.now() + 600_000 });
    try {
      assertFailure(await callBack(url, browser), 400, /more than 10 minutes ago/);
    } finally {
      mock.timers.reset();
    }
  });

  it('ends when the user is added to the access file, or removed from it', async () => {
    const browser = createBrowser();
    await browser.visit(`${pair.publicUrl}/-/sign-in`);
    assert.equal(await nameOf(pair, browser), 'ann@example.org');
    pair.service.change([person('ann@example.org')]);
    assert.equal(await nameOf(pair, browser), null);
    await browser.visit(`${pair.publicUrl}/-/sign-in`);
    assert.equal(await nameOf(pair, browser), 'ann@example.org');
    pair.service.change([]);
    assert.equal(await nameOf(pair, browser), null);
  });

  it('returns 404 if no provider is configured', async () => {
    const none = await startSignedInService();
    try {
      assertFailure(await send(none.port, '/-/sign-in'), 404, /OIDC_ISSUER is not set/);
      assertFailure(await send(none.port, '/-/sign-in/callback'), 404, /OIDC_ISSUER is not set/);
    } finally {
      await none.stop();
    }
  });
});

describe('An unavailable identity provider', () => {
  it('does not affect other requests, and is requested again at the next sign-in', async () => {
    const other = await startPair();
    try {
      other.provider.isAvailable = false;
      const response = await send(other.service.port, '/-/sign-in');
      assertFailure(response, 503, /identity provider is unavailable/);
      assert.equal(response.headers['retry-after'], '1');
      assert.equal((await send(other.service.port, '/-/session')).status, 200);
      other.provider.isAvailable = true;
      const browser = createBrowser();
      const url = await untilCallback(other, browser);
      other.provider.isAvailable = false;
      assertFailure(await callBack(url, browser), 503, /identity provider is unavailable/);
    } finally {
      await other.stop();
    }
  });

  it('can be unreachable', async () => {
    const nowhere = `http://127.0.0.1:${await findFreePort()}`;
    const other = await startPair({ settings: { issuer: nowhere } });
    try {
      assertFailure(await send(other.service.port, '/-/sign-in'), 503, /identity provider is unavailable/);
    } finally {
      await other.stop();
    }
  });

  it('is rejected if it names another issuer', async () => {
    const other = await startPair({ settings: { issuer: `${pair.provider.issuer}/other` } });
    try {
      assertFailure(await send(other.service.port, '/-/sign-in'), 503, /identity provider is unavailable/);
    } finally {
      await other.stop();
    }
  });
});
