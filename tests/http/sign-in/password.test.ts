import assert from 'node:assert/strict';
import { after, before, describe, it, mock } from 'node:test';
import { verifyPassword } from '../../../src/access/credentials.ts';
import { hashForTest } from '../../../testing/passwords.ts';
import { assertFailure, assertSuccess, type HttpResponse, jsonOf, postJson, send } from '../client.ts';
import { createBrowser } from './browser.ts';
import { person, type SignedInService, startSignedInService } from './signed-in-service.ts';

const ANN = person('ann', { password: hashForTest('correct horse'), groups: ['family'] });
const BOB = person('bob@example.org');
const WRONG = 'Wrong username or password.';

let service: SignedInService;
before(async () => {
  service = await startSignedInService({ people: [ANN, BOB] });
});
after(() => service.stop());

/** Each test uses its own addresses, so that the attempts of other tests do not count. */
let addresses = 0;
const elsewhere = () => ({ 'x-forwarded-for': `192.0.2.${++addresses}` });

const signIn = (name: string, password: string, headers: Record<string, string> = elsewhere()) =>
  postJson(service.port, '/-/session', { name, password }, headers);

describe('Sign-in with a password', () => {
  it('returns the current user and the sign-in methods', async () => {
    const browser = createBrowser();
    const asAnonymous = await browser.send(service.port, '/-/session');
    assert.deepEqual(jsonOf(asAnonymous), { success: true, name: null, signIn: { password: true, provider: false } });
    assert.equal(asAnonymous.headers['cache-control'], 'no-store');
    assert.equal(asAnonymous.headers['set-cookie'], undefined);
    await browser.send(service.port, '/-/session', postOf({ name: 'ann', password: 'correct horse' }));
    assert.equal(jsonOf(await browser.send(service.port, '/-/session'))['name'], 'ann');
    assert.equal((await browser.send(service.port, '/')).status, 200);
  });

  it('sets an HttpOnly cookie, which is Secure over HTTPS', async () => {
    const plain = await signIn('ann', 'correct horse');
    assertSuccess(plain, { message: 'Signed in.', name: 'ann' });
    assert.equal(plain.headers['cache-control'], 'no-store');
    assert.match(cookieOf(plain), /^holdall-[\da-f]{8}=[\w.-]+; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax$/);
    const secure = await signIn('ann', 'correct horse', { ...elsewhere(), 'x-forwarded-proto': 'https' });
    assert.match(
      cookieOf(secure),
      /^__Host-holdall-[\da-f]{8}=[\w.-]+; Max-Age=3600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    // With HTTPS, a cookie that another host could have set is ignored.
    const insecureCookie = cookieOf(plain).split(';')[0] ?? '';
    const response = await send(service.port, '/', {
      headers: { cookie: insecureCookie, 'x-forwarded-proto': 'https' },
    });
    assertFailure(response, 401, /^Sign in/);
  });

  it('returns the same response for an unknown username, a wrong password and a user without a password', async () => {
    for (const [name, password] of [
      ['ann', 'wrong'],
      ['ann', ''],
      ['ann', 'correct horse '],
      ['Ann', 'correct horse'],
      ['bob@example.org', ''],
      ['__proto__', 'x'],
      ['', ''],
    ] as const) {
      const response = await signIn(name, password);
      assertFailure(response, 401, WRONG);
      assert.equal(response.headers['set-cookie'], undefined, name);
    }
  });

  it('accepts only two strings, and repeats no password in errors', async () => {
    const bodies = [
      {},
      [],
      null,
      'secret-text',
      { name: 'ann' },
      { password: 'secret-text' },
      { name: 'ann', password: 7_777_777 },
      { name: ['ann'], password: 'secret-text' },
      { name: { $ne: null }, password: { $ne: null } },
    ];
    for (const body of bodies) {
      const response = await postJson(service.port, '/-/session', body, elsewhere());
      assertFailure(response, 400, /must be \{"name": "…", "password": "…"\}/);
      assert.doesNotMatch(response.body.toString(), /secret-text|7777777/);
    }
    const form = { 'content-type': 'application/x-www-form-urlencoded', ...elsewhere() };
    const posted = await send(service.port, '/-/session', {
      method: 'POST',
      headers: form,
      body: 'name=ann&password=correct+horse',
    });
    assertFailure(posted, 400, /must be JSON/);
    assertFailure(await signIn('ann', 'é'.repeat(513)), 400, /longer than 1024 bytes/);
    assertFailure(await signIn('ann', 'x'.repeat(10 * 1024 * 1024)), 413, /64 KiB/);
  });

  it('rejects the eleventh attempt for an account from an address, before the password is checked', async () => {
    const from = elsewhere();
    service.change([ANN, person('guessed', { password: hashForTest('right') })]);
    for (let attempt = 0; attempt < 10; attempt++) {
      assertFailure(await signIn('guessed', `guess ${attempt}`, from), 401, WRONG);
    }
    const refused = await signIn('guessed', 'guess 10', from);
    assertFailure(refused, 429, /^Too many sign-in attempts/);
    const seconds = Number(refused.headers['retry-after']);
    assert.ok(seconds >= 1 && seconds <= 60, String(seconds));
    // Other users, and the same user at another address, can still sign in.
    assert.equal((await signIn('ann', 'correct horse', from)).status, 200);
    assertFailure(await signIn('guessed', 'guess 11'), 401, WRONG);
  });

  it('rejects the twenty-first attempt from a network, with any usernames', async () => {
    const from = (host: number) => {
      const address = `2001:db8:1:1::${host.toString(16)}`;
      return { 'x-forwarded-for': host % 2 === 0 ? address : `[${address}]:${50_000 + host}` };
    };
    const names = Array.from({ length: 20 }, (_, index) => `name ${index + 1}`);
    const password = hashForTest('right');
    service.change([ANN, ...names.map((name) => person(name, { password }))]);
    for (const [index, name] of names.entries()) {
      assertFailure(await signIn(name, 'guess', from(index)), 401, WRONG);
    }
    assertFailure(await signIn('ann', 'correct horse', from(21)), 429, /^Too many sign-in attempts/);
    const neighbour = { 'x-forwarded-for': '2001:db8:1:2::1' };
    assert.equal((await signIn('ann', 'correct horse', neighbour)).status, 200);
  });

  it('does not let a single address lock an account for other addresses', async () => {
    mock.timers.enable({ apis: ['Date'], now: Date.now() });
    try {
      const from = elsewhere();
      service.change([ANN, person('victim', { password: hashForTest('right') })]);
      for (let minute = 0; minute < 12; minute++) {
        for (let attempt = 0; attempt < 10; attempt++) {
          assertFailure(await signIn('victim', 'guess', from), minute < 3 ? 401 : 429, /./);
        }
        mock.timers.setTime(Date.now() + 60_000);
      }
      assert.equal((await signIn('victim', 'right')).status, 200);
    } finally {
      mock.timers.reset();
    }
  });

  it('rejects the hundred-and-first attempt for an account from all addresses, for a quarter of an hour', async () => {
    mock.timers.enable({ apis: ['Date'], now: Date.now() });
    try {
      const target = person('target', { password: hashForTest('right') });
      service.change([ANN, BOB, target]);
      const program = { authorization: `Basic ${btoa('target:right')}` };
      assert.equal((await send(service.port, '/', { headers: program })).status, 200);
      for (let attempt = 0; attempt < 100; attempt++) {
        assertFailure(await signIn('target', `guess ${attempt}`), 401, WRONG);
      }
      const refused = await signIn('target', 'right');
      assertFailure(refused, 429, /^Too many sign-in attempts/);
      assert.equal(refused.headers['retry-after'], '900');
      // A client that is already authenticated is not affected.
      assert.equal((await send(service.port, '/', { headers: program })).status, 200);
      mock.timers.setTime(Date.now() + 900_000);
      assert.equal((await signIn('target', 'right')).status, 200);
    } finally {
      mock.timers.reset();
    }
  });

  it('does not count correct passwords, as from an office behind one address', async () => {
    const from = elsewhere();
    const names = Array.from({ length: 25 }, (_, index) => `colleague ${index}`);
    const password = hashForTest('right');
    service.change([ANN, ...names.map((name) => person(name, { password }))]);
    for (const name of names) assert.equal((await signIn(name, 'right', from)).status, 200);
    for (const name of names) assert.equal((await signIn(name, 'right', from)).status, 200);
    service.change([ANN, BOB]);
  });

  it('does not count attempts that are rejected for overload before the password is checked', async () => {
    const from = elsewhere();
    const hash = hashForTest('right');
    let isBusy = true;
    // As many as can be checked at the same time and wait in the queue, again and again.
    const checks = Array.from({ length: 66 }, async (_, index) => {
      while (isBusy) await verifyPassword('guess', hash, `network ${index}`);
    });
    try {
      for (let attempt = 0; attempt < 12; attempt++) {
        assertFailure(await signIn('ann', 'correct horse', from), 503, /Too many password checks/);
      }
    } finally {
      isBusy = false;
      await Promise.all(checks);
    }
    assert.equal((await signIn('ann', 'correct horse', from)).status, 200);
  });

  it('records each sign-in, and for failures only existing usernames', async () => {
    const known = service.events.length;
    const from = elsewhere();
    await signIn('ann', 'correct horse', from);
    await signIn('ann', 'correct horse', from);
    await signIn('ann', 'wrong-1234');
    await signIn('hunter2-typed-into-the-wrong-field', 'wrong-1234');
    const events = service.events
      .slice(known)
      .map(({ event, action, name, outcome, reason }) => ({ event, action, name, outcome, reason }));
    const about = { event: 'sign-in', action: 'password' };
    assert.deepEqual(events, [
      { ...about, name: 'ann', outcome: 'done', reason: undefined },
      { ...about, name: 'ann', outcome: 'done', reason: undefined },
      { ...about, name: 'ann', outcome: 'refused', reason: WRONG },
      { ...about, name: undefined, outcome: 'refused', reason: WRONG },
    ]);
    assert.doesNotMatch(JSON.stringify([service.events, service.log]), /hunter2|wrong-1234|correct horse/);
  });
});

describe('Authorization: Basic', () => {
  const request = (credentials: Buffer | string, headers: Record<string, string> = {}) =>
    send(service.port, '/', {
      headers: {
        authorization: `Basic ${Buffer.from(credentials).toString('base64')}`,
        'x-forwarded-proto': 'https',
        ...elsewhere(),
        ...headers,
      },
    });

  it('is accepted over HTTPS, and from this machine', async () => {
    assert.equal((await request('ann:correct horse')).status, 200);
    const near = { authorization: `basic ${btoa('ann:correct horse')}` };
    assert.equal((await send(service.port, '/', { headers: near })).status, 200);
    const inTheClear = await request('ann:correct horse', { 'x-forwarded-proto': 'http' });
    assertFailure(inTheClear, 403, /requires HTTPS.*TRUST_PROXY/);
  });

  it('is rejected from a proxy on this machine that is not in TRUST_PROXY', async () => {
    const withoutProxy = await startSignedInService({ people: [ANN], isProxied: false });
    try {
      const authorization = `Basic ${btoa('ann:correct horse')}`;
      for (const name of ['x-forwarded-for', 'forwarded', 'via']) {
        const headers = { authorization, 'x-forwarded-proto': 'https', [name]: '192.0.2.1' };
        assertFailure(await send(withoutProxy.port, '/', { headers }), 403, /TRUST_PROXY/);
      }
      assert.equal((await send(withoutProxy.port, '/', { headers: { authorization } })).status, 200);
    } finally {
      await withoutProxy.stop();
    }
  });

  it('is decoded as UTF-8, otherwise as Latin-1, and split at the first colon', async () => {
    service.change([ANN, person('zoë', { password: hashForTest('pass:wörd') })]);
    assert.equal((await request('zoë:pass:wörd')).status, 200);
    assert.equal((await request(Buffer.from('zoë:pass:wörd', 'latin1'))).status, 200);
    assert.equal((await request(Buffer.from('zoë:pass:word', 'latin1'))).status, 401);
    assertFailure(await request('no colon'), 401, /UTF-8 and Base64/);
    assertFailure(await request(''), 401, /UTF-8 and Base64/);
    assertFailure(await request('ann:wrong'), 401, WRONG);
    assertFailure(await request(`ann:${'x'.repeat(1025)}`), 400, /longer than 1024 bytes/);
    const odd = { authorization: 'Basic $$$', 'x-forwarded-proto': 'https' };
    assertFailure(await send(service.port, '/', { headers: odd }), 401, /UTF-8 and Base64/);
  });

  it('counts concurrent requests as one attempt, and stops working when the password changes', async () => {
    service.change([ANN]);
    const headers = elsewhere();
    const known = service.events.length;
    // Some proxies append the port of the client, which is different for each connection.
    const fromPort = (port: number) => ({ 'x-forwarded-for': `${headers['x-forwarded-for']}:${port}` });
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, index) => request('ann:correct horse', fromPort(50_000 + index))),
    );
    assert.deepEqual(new Set(responses.map(({ status }) => status)), new Set([200]));
    assert.equal(service.events.slice(known).filter(({ event }) => event === 'sign-in').length, 1);
    service.change([person('ann', { password: hashForTest('another') })]);
    assertFailure(await request('ann:correct horse', headers), 401, WRONG);
    service.change([]);
    assertFailure(await request('ann:another', headers), 401, WRONG);
    service.change([ANN]);
  });

  it('counts guesses like the form, even with a valid session', async () => {
    service.change([ANN]);
    const from = elsewhere();
    assert.equal((await request('ann:correct horse', from)).status, 200);
    for (let attempt = 0; attempt < 10; attempt++)
      assertFailure(await request(`ann:guess ${attempt}`, from), 401, WRONG);
    const refused = await request('ann:correct horse', from);
    assertFailure(refused, 429, /^Too many sign-in attempts/);
    assert.match(refused.headers['retry-after'] ?? '', /^\d+$/);
    assertFailure(await signIn('ann', 'correct horse', from), 429, /^Too many sign-in attempts/);
  });

  it('is offered only where it is accepted, and never to a browser', async () => {
    const offered = async (headers: Record<string, string>) =>
      /Basic/.test(String((await send(service.port, '/', { headers })).headers['www-authenticate']));
    assert.equal(await offered({}), true);
    assert.equal(await offered({ accept: 'text/html,*/*' }), false);
    assert.equal(await offered({ 'sec-fetch-mode': 'cors', 'sec-fetch-site': 'same-origin' }), false);
    assert.equal(await offered({ ...elsewhere(), 'x-forwarded-proto': 'http' }), false);
    const { headers } = await send(service.port, '/');
    assert.equal(headers['www-authenticate'], 'Bearer realm="Holdall", Basic realm="Holdall", charset="UTF-8"');
  });
});

function cookieOf({ headers }: HttpResponse): string {
  const [line, ...others] = headers['set-cookie'] ?? [];
  assert.deepEqual(others, []);
  return line ?? assert.fail('No cookie is set.');
}

function postOf(body: unknown) {
  return { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}
