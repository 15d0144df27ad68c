import assert from 'node:assert/strict';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { createToken } from '../../src/access/credentials.ts';
import { temporaryFolder } from '../../testing/holdall.ts';
import { documentedCaddy, startProxy } from '../../testing/servers/documented-proxies.ts';
import { startNginx } from '../../testing/servers/nginx.ts';
import { type ServiceInProcess, startInProcess } from '../../testing/service.ts';
import type { Need } from '../runner/needs.ts';
import { diagnose } from './diagnosis.ts';

export const needs: readonly Need[] = ['caddy', 'nginx'];

const upstream = ({ port }: ServiceInProcess) => `http://127.0.0.1:${port}`;

/** The location of `deploy/nginx.conf` without HTTPS. */
const asDocumented = (service: ServiceInProcess) => `
  client_max_body_size 0;
  location / {
    proxy_pass ${upstream(service)};
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $remote_addr;
    proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Forwarded-Host $http_host;
    proxy_set_header Upload-Draft-Interop-Version "";
    proxy_request_buffering off;
    proxy_buffering off;
  }`;

const noTrace = async ({ root }: ServiceInProcess) =>
  assert.deepEqual(
    (await readdir(root)).filter((name) => name.startsWith('holdall-doctor-')),
    [],
  );

/** Starts a service with an access file, and a token with all permissions. */
async function startGuarded(t: TestContext, settings: Readonly<Record<string, string>>) {
  const { token, hash } = createToken();
  const file = join(await temporaryFolder(t), 'access.json');
  const access = {
    people: { ann: { tokens: [{ name: 'doctor', hash }] } },
    grants: [{ folder: '/', to: { person: 'ann' }, rights: ['read', 'write', 'manage'] }],
  };
  await writeFile(file, JSON.stringify(access), { mode: 0o600 });
  const all = { ACCESS_FILE: file, ...settings };
  return { service: await startInProcess(t, { settings: all }), settings: all, token };
}

// Behind Apache: tests/long/doctor-apache.test.ts.
describe('holdall doctor behind nginx', () => {
  it('reports the effects of nginx defaults on uploads and paths, and settings of another storage', async (t) => {
    const service = await startInProcess(t);
    const [port] = await startNginx(t, [`location / { proxy_pass ${upstream(service)}/; }`]);
    const { code, of, with: having } = await diagnose({ DISK_ROOT: service.root }, '--url', `http://127.0.0.1:${port}`);
    assert.equal(code, 1);
    assert.deepEqual(having('failed'), ['url-names', 'url-body-size', 'url-dav-destination']);
    assert.deepEqual(having('warning'), ['url-upload-buffering', 'url-dav-body-size']);
    assert.equal(
      of('url-names').advice,
      'Forward paths unchanged. nginx: proxy_pass without a path, not even "/". Apache: AllowEncodedSlashes NoDecode, and ProxyPass with nocanon. Remove rewrites that decode paths.',
    );
    assert.deepEqual(
      [of('url-body-size').found, of('url-body-size').advice],
      [
        "The proxy refuses requests of 1 MiB with 413: files above this size can't be uploaded.",
        'Set UPLOAD_CHUNK_SIZE=512KiB, or: Raise the body size limit and timeouts of the proxy. nginx: client_max_body_size 0; in its server. Apache: LimitRequestBody 0. Cloudflare allows 100 MB; Traefik has a limit with the buffering middleware.',
      ],
    );
    assert.equal(
      of('url-upload-buffering').advice,
      'Stream uploads. nginx: proxy_request_buffering off; Otherwise, set a smaller UPLOAD_CHUNK_SIZE.',
    );
    assert.match(of('url-dav-destination').found, /^A move to .* returned 502: /);
    assert.match(String(of('url-dav-destination').advice), /nginx: proxy_set_header Host \$http_host;/);
    await noTrace(service);

    const root = await temporaryFolder(t);
    const other = await diagnose({ DISK_ROOT: root }, '--url', upstream(service));
    assert.deepEqual([other.code, other.with('failed')], [1, ['url-same-store']]);
    assert.equal(
      other.of('url-same-store').advice,
      `Run the doctor with the settings, user and machine of the service (these settings name ${root}), or correct PUBLIC_URL.`,
    );
    await noTrace(service);
  });

  it('reports that the service is unreachable, and the cause', async (t) => {
    const service = await startInProcess(t, { settings: { PUBLIC_URL: 'http://127.0.0.1:1', ACCESS: 'open' } });
    const to = upstream(service);
    const [path, host, gone, elsewhere, other, outside] = await startNginx(t, [
      `location /files/ { proxy_pass ${to}; }`,
      `location / { proxy_pass ${to}; proxy_set_header Host backend.internal; }`,
      'location / { proxy_pass http://127.0.0.1:1; }',
      'location / { return 301 https://files.example.org$request_uri; }',
      'location / { return 404; }',
      `location / { default_type application/json; return 404 '{"success":false,"code":"unknown-route","error":""}'; }`,
    ]);
    const settings = { DISK_ROOT: service.root, READ_ONLY: 'true', PORT: '8080' };
    const cases = [
      [
        `http://127.0.0.1:${path}/files`,
        'url-live',
        'The service receives /files/-/health/live. Set BASE_PATH=/files, or let the proxy remove /files (docs/how-to/reverse-proxies.md, "Serve below a path"), or remove it from PUBLIC_URL.',
      ],
      [
        `http://127.0.0.1:${host}`,
        'url-service',
        `The service received another Host header, or has another PUBLIC_URL. Forward the header (nginx: proxy_set_header Host $http_host;), and set PUBLIC_URL=http://127.0.0.1:${host} for the service.`,
      ],
      [
        `http://127.0.0.1:${gone}`,
        'url-live',
        "The proxy can't reach the service. Start the service, and point the proxy at http://127.0.0.1:8080 (nginx: proxy_pass http://127.0.0.1:8080;).",
      ],
      [
        `http://127.0.0.1:${elsewhere}`,
        'url-live',
        'The URL redirects to https://files.example.org/-/health/live. Set PUBLIC_URL to the final URL. If the proxy requires a sign-in, exempt /-/health/.',
      ],
      [
        `http://127.0.0.1:${other}`,
        'url-live',
        `Another server responds. Forward http://127.0.0.1:${other}/ to http://127.0.0.1:8080 (nginx: server_name and location), or correct PUBLIC_URL.`,
      ],
      [
        `https://127.0.0.1:${other}`,
        'url-live',
        `Install a certificate for 127.0.0.1:${other} with its intermediate certificates in the proxy. For a private certificate authority, set NODE_EXTRA_CA_CERTS.`,
      ],
    ] as const;
    for (const [url, check, advice] of cases) {
      const { code, of } = await diagnose(settings, '--url', url);
      assert.deepEqual([code, of(check).status, of(check).advice], [1, 'failed', advice], url);
    }
    const below = { ...settings, BASE_PATH: '/files' };
    const { of: adviceFor } = await diagnose(below, '--url', `http://127.0.0.1:${outside}`);
    assert.equal(adviceFor('url-live').advice, 'Add the BASE_PATH /files to the URL.');
  });

  it('reports no problem with the documented proxy, access control and a token', async (t) => {
    const { service, settings, token } = await startGuarded(t, { TRUST_PROXY: 'loopback' });
    const [port] = await startNginx(t, [asDocumented(service)]);
    const environment = { ...settings, DISK_ROOT: service.root, HOLDALL_TOKEN: token };
    const { code, of, with: having, printed } = await diagnose(environment, '--url', `http://127.0.0.1:${port}`);
    assert.deepEqual([code, having('failed'), having('warning')], [0, [], []], printed);
    assert.deepEqual(having('not tried'), []);
    assert.equal(of('url-credential').found, 'The service accepts the token.');
    assert.equal(of('url-dav-sign-in').found, 'WebDAV clients are asked for a username and a password.');
    assert.ok(!printed.includes(token) && !service.printed().includes(token));
    await noTrace(service);
  });

  it('reports what a proxy breaks of WebDAV', async (t) => {
    const settings = { TRUST_PROXY: 'loopback', ACCESS: 'open' };
    const service = await startInProcess(t, { settings });
    const plain = asDocumented(service);
    const within = (directives: string) => plain.replace('{', `{ ${directives}`);
    const [allowed, removed, changed] = await startNginx(t, [
      within('limit_except GET POST PUT DELETE PATCH OPTIONS { deny all; }'),
      within('proxy_set_header Depth ""; proxy_set_header If ""; proxy_set_header Overwrite "";'),
      within('proxy_set_header Destination http://backend.internal$request_uri;'),
    ]);
    const through = (port: number | undefined) =>
      diagnose({ ...settings, DISK_ROOT: service.root }, '--url', `http://127.0.0.1:${port}`);
    const refused = await through(allowed);
    assert.deepEqual(refused.with('failed'), ['url-dav-methods']);
    assert.match(refused.of('url-dav-methods').found, /^MKCOL returned 403 from a proxy.*; LOCK returned 403/);
    assert.match(String(refused.of('url-dav-methods').advice), /nginx: no limit_except/);
    const without = await through(removed);
    assert.deepEqual(without.with('failed'), ['url-dav-headers']);
    assert.equal(
      without.of('url-dav-headers').found,
      'The proxy removes or changes headers of requests: Depth, Overwrite, If.',
    );
    const elsewhere = await through(changed);
    assert.deepEqual(elsewhere.with('failed'), ['url-dav-methods']);
    assert.match(elsewhere.of('url-dav-methods').found, /^COPY returned 502: .*; MOVE returned /);
    await noTrace(service);
  });

  it('explains how to create a required token and reports an untrusted proxy', async (t) => {
    const { service, settings } = await startGuarded(t, {});
    const [port] = await startNginx(t, [asDocumented(service)]);
    const environment = { ...settings, DISK_ROOT: service.root };
    const { code, of, with: having } = await diagnose(environment, '--url', `http://127.0.0.1:${port}`);
    assert.deepEqual([code, having('failed')], [1, ['url-client-address']]);
    assert.deepEqual(
      [of('url-credential').status, of('url-credential').advice],
      [
        'not tried',
        'Create a token for a user with read, write and manage for "/" (npx holdall token new NAME), and run the doctor with HOLDALL_TOKEN=…',
      ],
    );
    assert.equal(
      of('url-client-address').advice,
      'Set TRUST_PROXY to the address of the proxy (loopback for this machine), and send X-Forwarded-For and X-Forwarded-Proto (nginx: proxy_set_header X-Forwarded-Proto $scheme;).',
    );
    await noTrace(service);
  });

  it('finds the body limit of a proxy, and suggests a size of parts', async (t) => {
    const settings = { TRUST_PROXY: 'loopback', ACCESS: 'open' };
    const service = await startInProcess(t, { settings });
    const [limited] = await startNginx(t, [
      `client_max_body_size 100m; ${asDocumented(service).replaceAll(/client_max.*|proxy_set_header Upload.*/g, '')}`,
    ]);
    const counting = await startProxy(t, await documentedCaddy(t, service.port, 'request_body {\nmax_size 5MB\n}'));
    const through = (port: number | undefined, chunkSize: string) =>
      diagnose(
        { ...settings, DISK_ROOT: service.root, UPLOAD_CHUNK_SIZE: chunkSize },
        '--url',
        `http://127.0.0.1:${port}`,
      );

    const tooLarge = await through(limited, '1GiB');
    assert.deepEqual([tooLarge.with('failed'), tooLarge.of('url-parts').status], [['url-body-size'], 'not tried']);
    assert.match(tooLarge.of('url-body-size').found, /refuses requests of 104 MiB/);
    assert.match(String(tooLarge.of('url-body-size').advice), /^Set UPLOAD_CHUNK_SIZE=96MiB, or: Raise the body size/);

    const fitting = await through(limited, '8MiB');
    assert.deepEqual(
      [fitting.with('failed'), fitting.with('warning')],
      [[], ['url-interim-responses', 'url-dav-body-size']],
    );
    assert.match(fitting.of('url-body-size').found, /refuses requests of 128 MiB.* have 8 MiB/);
    assert.equal(fitting.of('url-parts').found, 'A part of 8 MiB reached the service.');

    assert.equal(
      fitting.of('url-interim-responses').advice,
      'Remove a header of requests. nginx: proxy_set_header Upload-Draft-Interop-Version "";',
    );

    const counted = await through(counting, '8MiB');
    assert.deepEqual(counted.with('failed'), ['url-parts']);
    assert.match(counted.of('url-parts').found, /^A part of 8 MiB failed: /);
    assert.match(String(counted.of('url-parts').advice), /^Set UPLOAD_CHUNK_SIZE=4MiB, or: /);
    await noTrace(service);
    assert.deepEqual(await readdir(join(service.root, '.holdall/uploads')), []);
  });
});
