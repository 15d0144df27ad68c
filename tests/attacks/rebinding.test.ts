import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Owner, temporaryFolder } from '../../testing/holdall.ts';
import { type ServiceInProcess, startInProcess } from '../../testing/service.ts';
import { type HttpResponse, responseOf, sendBytes } from '../http/client.ts';

const SECRET = 'what this machine has for itself';

/** Names that an attacker could resolve to this machine, or that look like names of this machine. */
const FOREIGN = [
  'evil.test',
  'EVIL.test.',
  'evil.test:PORT',
  'evil.test:80',
  'localhost.evil.test',
  'localhost.evil.test:PORT',
  '127.0.0.1.evil.test',
  '127.0.0.1.nip.io:PORT',
  'notlocalhost',
  'localhost-evil.test',
  'localhost@evil.test',
  'evil.test@localhost.evil.test',
  'evil.test#localhost',
  'evil.test/localhost',
  'evil.test?localhost',
  'evil.test\\localhost',
  'localhost:80.evil.test',
  'localhost:PORT:80',
  'localhost evil.test',
  'evil.test, localhost',
  'localhost, evil.test',
  'localhost..',
  '.localhost',
  'loc\u0430lhost',
  'xn--loclhost-j8g',
  '0.0.0.0:PORT',
  '0:PORT',
  '0177.0.0.1',
  '2130706433:PORT',
  '0x7f.0.0.1',
  '127.1',
  '128.0.0.1',
  '1127.0.0.1',
  '192.168.0.1:PORT',
  '[::]:PORT',
  '[::ffff:192.168.0.1]',
  '[::1%25eth0]',
  '[::1].evil.test',
  '[fe80::1]:PORT',
  '*',
  '',
];

const OWN = [
  '127.0.0.1:PORT',
  'localhost:PORT',
  'LOCALHOST',
  'localhost.',
  'holdall.localhost:PORT',
  '127.8.9.1',
  '[::1]:PORT',
];

describe('A web page that uses DNS rebinding', () => {
  let service: ServiceInProcess;
  const endings: (() => Promise<void>)[] = [];
  before(async () => {
    service = await serve({ after: (end) => void endings.push(end) }, {});
  });
  after(async () => {
    for (const end of endings) await end();
  });

  it('is rejected by a service restricted to loopback', async () => {
    await assertOnlyOwnHost(service, FOREIGN, OWN);
    for (const host of ['evil.test', 'localhost.evil.test:PORT']) await assertNothingChanges(service, host);
  });

  it('is rejected by a service with a PUBLIC_URL', async (t) => {
    const atPublicUrl = await serve(t, { ACCESS: 'open', PUBLIC_URL: 'https://files.example.org/below' });
    const similarNames = [
      'files.example.org.evil.test',
      'evilfiles.example.org',
      'example.org',
      'sub.files.example.org',
    ];
    const known = ['files.example.org', 'FILES.example.org:443', 'files.example.org.', 'files.example.org:8443'];
    await assertOnlyOwnHost(atPublicUrl, [...FOREIGN.slice(0, 8), ...similarNames], [...OWN, ...known]);
    await assertNothingChanges(atPublicUrl, 'evil.test');
  });

  it('is rejected regardless of forwarding headers and repeated Host headers', async () => {
    const claims = [
      'X-Forwarded-Host: localhost',
      'X-Forwarded-Server: localhost',
      'X-Host: localhost',
      'Forwarded: host=localhost',
      'X-Original-Host: localhost',
    ];
    for (const claim of claims) assertRefused(await request(service, { host: 'evil.test', more: [claim] }), claim);
    // A request from a proxy is not local, whatever its headers claim.
    for (const claim of ['X-Forwarded-Host: localhost', 'X-Forwarded-For: 127.0.0.1', 'Via: 1.1 localhost']) {
      assertRefused(await request(service, { host: 'localhost', more: [claim] }), claim);
    }

    // RFC 9112, section 3.2: a request with several `Host` headers is rejected, whatever their values.
    for (const hosts of [
      ['localhost', 'evil.test'],
      ['evil.test', 'localhost'],
      ['localhost', 'localhost'],
    ]) {
      const [host = '', other = ''] = hosts;
      const response = await request(service, { host, more: [`Host: ${other}`] });
      assert.equal(response.status, 400, hosts.join());
      assert.ok(!response.body.includes(SECRET));
    }
    // Section 3.2.2: an absolute request target takes precedence over `Host`.
    for (const [target, host, expected] of [
      ['http://localhost/file/secret.txt', 'localhost', 200],
      ['http://evil.test/file/secret.txt', 'evil.test', 403],
      ['http://evil.test/file/secret.txt', 'localhost', 400],
      ['http://localhost/file/secret.txt', 'evil.test', 400],
      ['HTTPS://localhost@evil.test/file/secret.txt', 'localhost', 400],
      ['http://evil.test?/file/secret.txt', 'localhost', 400],
      ['ftp://evil.test/file/secret.txt', 'localhost', 400],
      ['//evil.test/file/secret.txt', 'localhost', 404],
    ] as const) {
      const response = await request(service, { host, target });
      assert.equal(response.status, expected, `${target} ${host}: ${response.body.toString()}`);
      assert.equal(response.body.includes(SECRET), expected === 200);
    }
    const bare = responseOf(await sendBytes(service.port, 'GET /file/secret.txt HTTP/1.0\r\n\r\n'));
    assert.ok(bare.status >= 400 && !bare.body.includes(SECRET), 'HTTP/1.0 allows requests without Host.');
  });
});

async function serve(t: Owner, settings: Readonly<Record<string, string>>): Promise<ServiceInProcess> {
  const root = join(await temporaryFolder(t), 'root');
  await mkdir(root);
  await writeFile(join(root, 'secret.txt'), SECRET);
  return startInProcess(t, { root, settings });
}

interface Request {
  readonly host: string;
  readonly target?: string;
  readonly method?: string;
  /** Additional header lines. */
  readonly more?: readonly string[];
  readonly body?: string;
}

/** Sends a raw request, because clients would replace some of the `Host` headers. */
async function request(
  { port }: ServiceInProcess,
  { host, target = '/file/secret.txt', method = 'GET', more = [], body = '' }: Request,
): Promise<HttpResponse> {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    `Host: ${host.replace('PORT', String(port))}`,
    'Connection: close',
    ...more,
    ...(body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]),
  ];
  return responseOf(await sendBytes(port, `${lines.join('\r\n')}\r\n\r\n${body}`));
}

async function assertOnlyOwnHost(
  service: ServiceInProcess,
  foreign: readonly string[],
  own: readonly string[],
): Promise<void> {
  for (const host of foreign) {
    for (const target of ['/file/secret.txt', '/', '/-/session', '/-/openapi.json']) {
      assertRefused(await request(service, { host, target }), `${target} ${JSON.stringify(host)}`);
    }
  }
  for (const host of own) {
    const { status, body } = await request(service, { host });
    assert.equal(`${status} ${body.toString()}`, `200 ${SECRET}`, host);
  }
}

async function assertNothingChanges(service: ServiceInProcess, host: string): Promise<void> {
  const json = { more: ['Content-Type: application/json'], method: 'POST' } as const;
  const copy = JSON.stringify({ source: 'secret.txt', destination: 'taken.txt', is_folder: false });
  const changes = (from: string): Request[] => [
    { host: from, ...json, target: '/copy', body: copy },
    { host: from, ...json, target: '/create_folder', body: JSON.stringify({ path: 'made' }) },
    { host: from, method: 'DELETE', target: '/delete/secret.txt' },
  ];
  for (const change of changes(host)) assertRefused(await request(service, change), change.target ?? '');
  assert.equal((await request(service, { host: 'localhost' })).status, 200);
  assert.equal((await request(service, { host: 'localhost', target: '/file/taken.txt' })).status, 404);
}

function assertRefused({ status, body }: HttpResponse, what: string): void {
  assert.ok(status === 403 || status === 400, `${what}: ${status} ${body.toString()}`);
  assert.ok(!body.includes(SECRET), what);
}
