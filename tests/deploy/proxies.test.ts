import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { temporaryFolder } from '../../testing/holdall.ts';
import { documentedApache, documentedHaproxy, PATH, startProxy } from '../../testing/servers/documented-proxies.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['apache2', 'caddy', 'haproxy', 'nginx'];

const run = promisify(execFile);
const DEPLOY = fileURLToPath(new URL('../../deploy/', import.meta.url));

const read = (file: string) => readFile(join(DEPLOY, file), 'utf8');

describe('The reverse proxy examples', () => {
  it('are valid for nginx', async (t) => {
    const folder = await temporaryFolder(t);
    // Without certificates, which only the owner of the names has, and on sockets of this test.
    let sockets = 0;
    const site = (await read('nginx.conf'))
      .replaceAll(/^ *ssl_\w+ .*$/gm, '')
      .replaceAll(/^( *)listen .*;/gm, (_, indent: string) => `${indent}listen unix:${folder}/${sockets++};`);
    await writeFile(join(folder, 'site.conf'), site);
    const all = `error_log stderr; pid nginx.pid; events {} http { access_log off; include site.conf; }`;
    await writeFile(join(folder, 'nginx.conf'), all);
    await run('nginx', ['-t', '-q', '-e', 'stderr', '-p', folder, '-c', 'nginx.conf'], { env: { PATH } });
  });

  it('are valid for Caddy', async () => {
    const options = ['--adapter', 'caddyfile', '--config', join(DEPLOY, 'Caddyfile')];
    await run('caddy', ['validate', ...options], { env: { PATH, HOME: '/nonexistent' } });
  });

  for (const [name, documented] of [
    ['Apache', documentedApache],
    ['HAProxy', documentedHaproxy],
  ] as const) {
    it(`are valid for ${name}`, async (t) => {
      const { file, check } = await documented(t, 8080);
      await run(file, check, { env: { PATH } });
    });

    it(`redirect plain HTTP to the same host and path with ${name}`, async (t) => {
      const proxy = await documented(t, 8080);
      await startProxy(t, proxy);
      const url = `http://localhost:${proxy.redirectPort}/a%2Fb%20%25%3F.txt?download=1&x=%2F`;
      const { status, headers } = await fetch(url, { method: 'POST', redirect: 'manual' });
      assert.equal(status, 308);
      assert.equal(headers.get('location'), url.replace('http:', 'https:'));
    });
  }

  it('match the published schemas of the Traefik files', async () => {
    // No package contains Traefik itself, so this does not test whether Traefik accepts the files.
    const schemas = JSON.parse(await readFile(new URL('traefik-schemas.json', import.meta.url), 'utf8'));
    const ajv = new Ajv({ allErrors: true });
    for (const [name, file] of [
      ['static', 'traefik.yaml'],
      ['dynamic', 'traefik-holdall.yaml'],
    ] as const) {
      assert.ok(ajv.validate(schemas[name], parse(await read(file))), `${file}: ${ajv.errorsText()}`);
    }
  });

  it('make browsers use only HTTPS', async () => {
    for (const file of [
      'nginx.conf',
      'apache.conf',
      'haproxy.cfg',
      'Caddyfile',
      'compose/Caddyfile',
      'kubernetes/holdall.yaml',
    ]) {
      assert.match(await read(file), /Strict-Transport-Security\W.*max-age=31536000/, file);
    }
    const { routers, middlewares } = parse(await read('traefik-holdall.yaml')).http;
    for (const name of routers.holdall.middlewares) assert.equal(middlewares[name].headers.stsSeconds, 31_536_000);
  });

  it('use matching names in both Traefik files', async () => {
    const { entryPoints, certificatesResolvers } = parse(await read('traefik.yaml'));
    const { routers, services } = parse(await read('traefik-holdall.yaml')).http;
    for (const { entryPoints: used, service } of Object.values<{ entryPoints: string[]; service: string }>(routers)) {
      for (const name of used) assert.ok(name in entryPoints, name);
      assert.ok(service in services, service);
    }
    assert.ok(entryPoints.websecure.http.tls.certResolver in certificatesResolvers);
    // Such a timeout would limit a whole upload.
    assert.equal(entryPoints.websecure.transport.respondingTimeouts.readTimeout, '0s');
  });
});
