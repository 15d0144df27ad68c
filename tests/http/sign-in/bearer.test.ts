import assert from 'node:assert/strict';
import { after, before, describe, it, mock } from 'node:test';
import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose';
import { createToken } from '../../../src/access/credentials.ts';
import { PERMISSIONS } from '../../../src/access/policy.ts';
import { ROOT } from '../../../src/model/path.ts';
import { type KeyServer, startKeyServer } from '../../../testing/servers/key-server.ts';
import { assertFailure, jsonOf, send } from '../client.ts';
import { person, type SignedInService, startSignedInService } from './signed-in-service.ts';

const AUDIENCE = 'https://files.example.org';

const request = ({ port }: SignedInService, authorization: string) =>
  send(port, '/-/session', { headers: { authorization } });

describe('A token of the access file', () => {
  const lasting = createToken();
  const brief = createToken();
  const ann = person('ann', {
    tokens: [
      { name: 'lasting', hash: lasting.hash, expires: undefined },
      { name: 'brief', hash: brief.hash, expires: new Date('2030-01-01T00:00:00Z') },
    ],
  });
  let service: SignedInService;
  before(async () => {
    service = await startSignedInService({ people: [ann] });
  });
  after(() => service.stop());

  it('authenticates its user, with any case of the scheme', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER ']) {
      assert.equal(jsonOf(await request(service, `${scheme} ${lasting.token}`))['name'], 'ann');
    }
  });

  it('is rejected if it is unknown, and never treated as anonymous', async () => {
    const others = [
      `Bearer ${lasting.token.slice(0, -1)}`,
      `Bearer ${lasting.token}A`,
      `Bearer ${lasting.token.toUpperCase()}`,
      `Bearer ${lasting.hash}`,
      'Bearer holdall_',
      'Bearer',
      'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4ifQ.',
    ];
    for (const authorization of others) {
      const response = await request(service, authorization);
      assertFailure(response, 401, /^Invalid or revoked token\.$/);
      assert.match(String(response.headers['www-authenticate']), /^Bearer realm="Holdall"/);
    }
    for (const authorization of ['', 'Digest username="ann"', lasting.token, `Token ${lasting.token}`]) {
      assertFailure(await request(service, authorization), 401, /must be Bearer or Basic/);
    }
    assert.doesNotMatch(JSON.stringify([service.events, service.log]), new RegExp(lasting.token.slice(0, 20)));
  });

  it('stops working when it expires, is revoked, or its user is removed', async () => {
    mock.timers.enable({ apis: ['Date'], now: Date.parse('2029-12-31T23:59:59Z') });
    try {
      assert.equal((await request(service, `Bearer ${brief.token}`)).status, 200);
      mock.timers.setTime(Date.parse('2030-01-01T00:00:00Z'));
      assertFailure(await request(service, `Bearer ${brief.token}`), 401, /expired on 2030-01-01T00:00:00/);
      assert.equal((await request(service, `Bearer ${lasting.token}`)).status, 200);
    } finally {
      mock.timers.reset();
    }
    for (const people of [[person('ann')], []]) {
      service.change(people);
      assertFailure(await request(service, `Bearer ${lasting.token}`), 401, /Invalid or revoked/);
    }
    service.change([ann]);
  });
});

describe('A JSON Web Token', () => {
  let issuer: KeyServer;
  let service: SignedInService;
  let keys: { privateKey: CryptoKey; publicKey: CryptoKey };

  before(async () => {
    issuer = await startKeyServer();
    keys = await newKeys('k1');
    service = await startSignedInService({ jwt: settings() });
  });
  after(async () => {
    await service.stop();
    await issuer.stop();
  });

  const settings = (more: object = {}) => ({
    issuer: issuer.issuer,
    audience: AUDIENCE,
    jwksUrl: undefined,
    nameClaim: 'sub',
    groupsClaim: 'groups',
    ...more,
  });

  /** Creates keys that replace all keys of the issuer. */
  async function newKeys(kid: string, algorithm = 'RS256') {
    const made = await generateKeyPair(algorithm, { extractable: true });
    issuer.setResponse('/jwks', { keys: [{ ...(await exportJWK(made.publicKey)), kid, alg: algorithm }] });
    return made;
  }

  const claims = (more: JWTPayload = {}): JWTPayload => ({
    iss: issuer.issuer,
    aud: AUDIENCE,
    sub: 'robot',
    exp: Math.floor(Date.now() / 1000) + 300,
    ...more,
  });
  const sign = (
    payload: JWTPayload,
    header: JWTHeaderParameters = { alg: 'RS256', kid: 'k1' },
    key: CryptoKey | Uint8Array = keys.privateKey,
  ) => new SignJWT(payload).setProtectedHeader(header).sign(key);

  const assertRefused = async (token: string, reason: RegExp, where = service) =>
    assertFailure(await request(where, `Bearer ${token}`), 401, reason);

  it('authenticates the user in its name claim', async () => {
    const token = await sign(claims({ groups: ['ops'] }));
    assert.equal(jsonOf(await request(service, `Bearer ${token}`))['name'], 'robot');
    const asAccess = await sign(claims(), { alg: 'RS256', kid: 'k1', typ: 'at+jwt' });
    assert.equal((await request(service, `Bearer ${asAccess}`)).status, 200);
    assert.deepEqual(new Set(issuer.requested), new Set(['/.well-known/openid-configuration', '/jwks']));
    assert.equal(issuer.requested.length, 2);
  });

  it('has the groups in its groups claim', async () => {
    const grants = [{ folder: ROOT, to: { kind: 'group', name: 'ops' }, permissions: PERMISSIONS }] as const;
    const forOps = await startSignedInService({ jwt: settings(), grants });
    const statusFor = async (groups: unknown) =>
      (await send(forOps.port, '/', { headers: { authorization: `Bearer ${await sign(claims({ groups }))}` } })).status;
    try {
      for (const groups of [['ops'], ['others', 'ops'], 'ops', [7, null, 'ops', { ops: true }]]) {
        assert.equal(await statusFor(groups), 200, JSON.stringify(groups));
      }
      for (const groups of [undefined, [], ['opsx'], 'ops,others', { ops: true }, [['ops']], ['ops\n']]) {
        assert.equal(await statusFor(groups), 403, JSON.stringify(groups));
      }
    } finally {
      await forOps.stop();
    }
  });

  it('must have the right audience and issuer, and an expiry', async () => {
    const { exp: _, ...endless } = claims();
    const { aud: __, ...forAnonymous } = claims();
    const { iss: ___, ...ofAnonymous } = claims();
    for (const [payload, reason] of [
      [claims({ aud: 'https://other.example.org' }), /claim "aud" of the token is invalid/],
      [claims({ aud: `${AUDIENCE}/` }), /claim "aud" of the token is invalid/],
      [forAnonymous, /claim "aud" of the token is invalid/],
      [claims({ iss: `${issuer.issuer}/` }), /claim "iss" of the token is invalid/],
      [ofAnonymous, /claim "iss" of the token is invalid/],
      [endless, /claim "exp" of the token is invalid/],
      [claims({ nonce: 'x' }), /not accepted as Authorization: Bearer/],
      [claims({ at_hash: 'x' }), /not accepted as Authorization: Bearer/],
      [claims({ cnf: { jkt: 'x' } }), /not accepted as Authorization: Bearer/],
    ] as const) {
      await assertRefused(await sign(payload), reason);
    }
    for (const typ of ['logout+jwt', 'dpop+jwt', 'application/secevent+jwt']) {
      await assertRefused(
        await sign(claims(), { alg: 'RS256', kid: 'k1', typ }),
        /not accepted as Authorization: Bearer/,
      );
    }
  });

  it('is valid from 30 seconds before its time to 30 seconds after its expiry', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: Math.floor(Date.now() / 1000) * 1000 });
    const now = Date.now() / 1000;
    for (const times of [{ exp: now - 29 }, { nbf: now + 30 }]) {
      assert.equal((await request(service, `Bearer ${await sign(claims(times))}`)).status, 200);
    }
    await assertRefused(await sign(claims({ exp: now - 30 })), /has expired/);
    await assertRefused(await sign(claims({ nbf: now + 31 })), /claim "nbf" of the token is invalid/);
  });

  it('must be signed with a key of the issuer', async () => {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    await assertRefused(
      `${encode({ alg: 'none' })}.${encode(claims())}.`,
      /algorithm of the token is not supported|valid/,
    );
    // The public key, which everyone can read, as the secret of a symmetric signature.
    const secret = Buffer.from(await exportSPKI(keys.publicKey));
    await assertRefused(
      await sign(claims(), { alg: 'HS256', kid: 'k1' }, secret),
      /algorithm of the token is not supported/,
    );
    const anonymous = await generateKeyPair('RS256');
    await assertRefused(await sign(claims(), { alg: 'RS256', kid: 'k1' }, anonymous.privateKey), /signature/);
    // A key that the token itself contains.
    const jwk = await exportJWK(anonymous.publicKey);
    await assertRefused(await sign(claims(), { alg: 'RS256', kid: 'k1', jwk }, anonymous.privateKey), /signature/);
    const [head = '', , signature = ''] = (await sign(claims())).split('.');
    await assertRefused(`${head}.${encode(claims({ sub: 'root' }))}.${signature}`, /signature/);
    await assertRefused('a.b.c', /neither/);
  });

  it('must have a valid username', async () => {
    for (const sub of ['', 'x'.repeat(201), 'a\nb', 'a\u0000', 'a\u0085', 7, null, ['ann'], { name: 'ann' }]) {
      await assertRefused(
        await sign(claims({ sub } as unknown as JWTPayload)),
        /^The (token has no valid username|claim "sub" of the token is invalid)/,
      );
    }
    const byMail = await startSignedInService({ jwt: settings({ nameClaim: 'email' }) });
    try {
      const mail = (verified: unknown) => sign(claims({ email: 'ann@example.org', email_verified: verified }));
      assert.equal(jsonOf(await request(byMail, `Bearer ${await mail(true)}`))['name'], 'ann@example.org');
      for (const verified of [false, undefined, 'true', 1]) {
        await assertRefused(await mail(verified), /no verified e-mail address/, byMail);
      }
    } finally {
      await byMail.stop();
    }
  });

  it('is accepted with rotated keys, and no longer with the old ones', async () => {
    mock.timers.enable({ apis: ['Date'], now: Date.now() });
    try {
      const old = await sign(claims());
      assert.equal((await request(service, `Bearer ${old}`)).status, 200);
      const former = keys;
      keys = await newKeys('k2', 'EdDSA');
      mock.timers.setTime(Date.now() + 6000);
      const fresh = await sign(claims(), { alg: 'EdDSA', kid: 'k2' });
      assert.equal((await request(service, `Bearer ${fresh}`)).status, 200);
      await assertRefused(await sign(claims(), { alg: 'RS256', kid: 'k1' }, former.privateKey), /unknown key/);
      // The issuer is not contacted for each forged token.
      const requested = issuer.requested.length;
      for (let kid = 0; kid < 5; kid++) {
        await assertRefused(await sign(claims(), { alg: 'EdDSA', kid: `made up ${kid}` }), /unknown key/);
      }
      assert.equal(issuer.requested.length, requested);
    } finally {
      mock.timers.reset();
    }
    keys = await newKeys('k1');
  });

  it('is neither accepted nor rejected while its issuer is unreachable', async () => {
    const token = await sign(claims());
    const document = { issuer: issuer.issuer, jwks_uri: issuer.jwksUrl };
    const place = '/.well-known/openid-configuration';
    const requesting = await startSignedInService({ jwt: settings() });
    const named = await startSignedInService({ jwt: settings({ jwksUrl: issuer.jwksUrl }) });
    try {
      for (const response of [500, { issuer: 'https://evil.example.org', jwks_uri: issuer.jwksUrl }, {}, []]) {
        issuer.setResponse(place, response);
        assertFailure(await request(requesting, `Bearer ${token}`), 503, /keys of the token issuer/);
      }
      issuer.setResponse(place, document);
      assert.equal((await request(requesting, `Bearer ${token}`)).status, 200);
      for (const response of [500, { keys: 'none' }, {}]) {
        issuer.setResponse('/jwks', response);
        const responded = await request(named, `Bearer ${token}`);
        assertFailure(responded, 503, /keys of the token issuer/);
        assert.equal(responded.headers['retry-after'], '1');
      }
      // Requests that don't need the issuer succeed.
      assert.equal((await send(named.port, '/-/session')).status, 200);
      assertFailure(await request(named, 'Bearer holdall_x'), 401, /Invalid or revoked/);
    } finally {
      await requesting.stop();
      await named.stop();
    }
  });
});
