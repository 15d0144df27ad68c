import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { readConfig } from '../../src/config/config.ts';
import type { Need } from '../runner/needs.ts';
import { assertSettings, LONGEST_STOP } from './settings.ts';

export const needs: readonly Need[] = ['caddy', 'docker-compose'];

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const COMPOSE = join(ROOT, 'deploy/compose');

/** The `.env` that docs/how-to/replicas.md describes. */
const SECRETS = {
  S3_ACCESS_KEY_ID: 'GK0123456789abcdef0123456789abcdef',
  S3_SECRET_ACCESS_KEY: '0123456789abcdef'.repeat(4),
  SIGNING_KEY: '0123456789abcdef'.repeat(4),
  GARAGE_RPC_SECRET: '0123456789abcdef'.repeat(4),
  REDIS_PASSWORD: '0123456789abcdef'.repeat(4),
  DATABASE_PASSWORD: 'fedcba9876543210'.repeat(4),
};

interface Service {
  readonly environment?: Record<string, string>;
  readonly stop_grace_period?: string;
  readonly read_only?: boolean;
  readonly mem_limit?: string | number;
  readonly pids_limit?: number;
  readonly cap_drop?: readonly string[];
  readonly tmpfs?: string | readonly string[];
  readonly command?: readonly string[];
  readonly networks?: Record<string, { readonly ipv4_address?: string }>;
  readonly volumes?: readonly string[];
  readonly build?: { readonly context: string };
}

/** Returns the services of a file as Docker Compose parses it: validated, with variables replaced. */
async function servicesOf(file: string): Promise<Record<string, Service>> {
  const { stdout } = await run('docker-compose', ['--file', join(COMPOSE, file), 'config'], {
    env: { PATH: process.env['PATH'], ...SECRETS },
  });
  return (parse(stdout) as { services: Record<string, Service> }).services;
}

describe('The Compose files', () => {
  let disk: Record<string, Service>;
  let replicas: Record<string, Service>;
  before(async () => {
    [disk, replicas] = await Promise.all([servicesOf('disk.yaml'), servicesOf('replicas.yaml')]);
  });

  it('give Holdall a valid and complete set of settings', () => {
    for (const { holdall } of [disk, replicas]) {
      assert.ok(holdall);
      assertSettings(Object.keys(holdall.environment ?? {}));
      // The image sets the first two.
      readConfig({ HOST: '0.0.0.0', DISK_ROOT: '/data', ...holdall.environment });
    }
  });

  it('restrict the container and allow a graceful shutdown', () => {
    for (const { holdall } of [disk, replicas]) {
      assert.equal(holdall?.read_only, true);
      assert.deepEqual(holdall.cap_drop, ['ALL']);
      assert.ok(holdall.mem_limit && holdall.pids_limit);
      assert.ok(Number.parseInt(holdall.stop_grace_period ?? '', 10) >= LONGEST_STOP);
    }
  });

  it('name only existing files', async () => {
    for (const service of [...Object.values(disk), ...Object.values(replicas)]) {
      if (service.build) await access(join(service.build.context, 'Dockerfile'));
      const paths = (service.volumes ?? []).map((volume) => volume.replace(/:.*/, ''));
      // Operators provide `/config`, which contains the access file.
      for (const path of paths) if (path.startsWith('/') && !path.endsWith('/config')) await access(path);
    }
  });

  it('keep the state of Holdall outside the served folder', () => {
    for (const { holdall } of [disk, replicas]) {
      const mounts = [...(holdall?.volumes ?? []), ...[holdall?.tmpfs ?? []].flat()].map((each) => each.split(':'));
      assert.ok(mounts.some((parts) => parts.includes('/state')));
    }
  });

  it('trust only the reverse proxy, and require a password for Redis', () => {
    const { holdall, proxy, redis } = replicas;
    assert.equal(holdall?.environment?.['TRUST_PROXY'], proxy?.networks?.['default']?.ipv4_address);
    assert.equal(new URL(holdall?.environment?.['REDIS_URL'] ?? '').password, SECRETS.REDIS_PASSWORD);
    assert.equal(redis?.environment?.['REDIS_PASSWORD'], SECRETS.REDIS_PASSWORD);
    assert.match(String(redis?.command), /--requirepass "\$+REDIS_PASSWORD"/);
  });

  it('connect the replicas to the PostgreSQL of the file, and keep its data', () => {
    const { holdall, postgres } = replicas;
    const url = new URL(holdall?.environment?.['DATABASE_URL'] ?? '');
    assert.deepEqual([url.protocol, url.hostname, url.port], ['postgres:', 'postgres', '5432']);
    assert.deepEqual(
      { POSTGRES_USER: url.username, POSTGRES_PASSWORD: url.password, POSTGRES_DB: url.pathname.slice(1) },
      postgres?.environment,
    );
    assert.equal(url.password, SECRETS.DATABASE_PASSWORD);
    assert.match(String(postgres?.command), /max_connections=300/);
    assert.ok(
      postgres?.volumes?.some((volume) => volume.endsWith(':/var/lib/postgresql:rw')),
      String(postgres?.volumes),
    );
  });

  it('contain a Caddyfile that Caddy accepts', async () => {
    const file = join(COMPOSE, 'Caddyfile');
    const env = { PATH: process.env['PATH'], HOME: '/nonexistent', ...replicas['proxy']?.environment };
    await run('caddy', ['validate', '--adapter', 'caddyfile', '--config', file], { env });
    assert.equal((await run('caddy', ['fmt', file])).stdout, await readFile(file, 'utf8'));
  });

  it('give Garage and Holdall the same region', async () => {
    const toml = await readFile(join(COMPOSE, 'garage.toml'), 'utf8');
    assert.ok(toml.includes(`s3_region = "${replicas['holdall']?.environment?.['S3_REGION']}"`));
  });
});
