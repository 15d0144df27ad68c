import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { atEnd, type Owner, temporaryFolder } from '../holdall.ts';
import { until } from '../until.ts';
import { acceptsConnections } from './accepts-connections.ts';
import { findFreePort } from './free-port.ts';

/** A proxy program, its command line and its ports. */
interface DocumentedProxy {
  readonly file: string;
  readonly args: readonly string[];
  /** The arguments that only check the configuration. */
  readonly check: readonly string[];
  readonly port: number;
  /** The port for plain HTTP, which redirects to HTTPS. */
  readonly redirectPort: number;
}

/**
 * Returns Apache with `deploy/apache.conf` in front of a service. Replaces addresses, TLS and the distribution's
 * settings.
 */
export async function documentedApache(t: Owner, service: number): Promise<DocumentedProxy> {
  const folder = await temporaryFolder(t);
  const [port, otherPort] = [await findFreePort(), await findFreePort()];
  const site = adapt(await read('apache.conf'), [
    [/<VirtualHost \*:443>/, `<VirtualHost 127.0.0.1:${port}>`],
    [/<VirtualHost \*:80>/, `<VirtualHost 127.0.0.1:${otherPort}>`],
    [/^ *SSL\w+ .*$/gm, ''],
    [/127\.0\.0\.1:8080/, `127.0.0.1:${service}`],
  ]);
  const modules = ['mpm_event', 'authz_core', 'alias', 'headers', 'proxy', 'proxy_http', 'reqtimeout', 'rewrite'];
  const configuration = [
    `ServerRoot ${folder}`,
    'ServerName localhost',
    `PidFile ${folder}/apache.pid`,
    `DefaultRuntimeDir ${folder}`,
    `ErrorLog ${folder}/error.log`,
    ...modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`),
    ...(process.getuid?.() === 0 ? ['User www-data', 'Group www-data'] : []),
    `Listen 127.0.0.1:${port}`,
    `Listen 127.0.0.1:${otherPort}`,
    site,
  ];
  const file = join(folder, 'apache.conf');
  await writeFile(file, configuration.join('\n'));
  return {
    file: 'apache2',
    args: ['-f', file, '-D', 'FOREGROUND'],
    check: ['-f', file, '-t'],
    port,
    redirectPort: otherPort,
  };
}

/** Returns HAProxy with `deploy/haproxy.cfg` in front of a service. Replaces addresses and TLS. */
export async function documentedHaproxy(t: Owner, service: number): Promise<DocumentedProxy> {
  const folder = await temporaryFolder(t);
  const [port, otherPort] = [await findFreePort(), await findFreePort()];
  const configuration = adapt(await read('haproxy.cfg'), [
    [/bind :443 ssl crt .*/, `bind 127.0.0.1:${port}`],
    [/bind :80/, `bind 127.0.0.1:${otherPort}`],
    [/127\.0\.0\.1:8080/, `127.0.0.1:${service}`],
  ]);
  const file = join(folder, 'haproxy.cfg');
  await writeFile(file, configuration);
  return {
    file: 'haproxy',
    args: ['-db', '-q', '-f', file],
    check: ['-c', '-q', '-f', file],
    port,
    redirectPort: otherPort,
  };
}

/** Returns Caddy with `deploy/Caddyfile` in front of a service. Replaces addresses and TLS, and adds a directive. */
export async function documentedCaddy(t: Owner, service: number, directive = ''): Promise<DocumentedProxy> {
  const folder = await temporaryFolder(t);
  const port = await findFreePort();
  const site = adapt(await read('Caddyfile'), [
    [/^files\.example\.org, files-content\.example\.org \{/m, `http://:${port} {\n\tbind 127.0.0.1\n\t${directive}`],
    [/127\.0\.0\.1:8080/, `127.0.0.1:${service}`],
  ]);
  const file = join(folder, 'Caddyfile');
  await writeFile(file, `{\n\tadmin off\n}\n${site}`);
  // Caddy writes to the home of the user.
  const command = [`HOME=${folder}`, `XDG_CONFIG_HOME=${folder}`, `XDG_DATA_HOME=${folder}`, 'caddy'];
  const options = ['--adapter', 'caddyfile', '--config', file];
  return {
    file: 'env',
    args: [...command, 'run', ...options],
    check: [...command, 'validate', ...options],
    port,
    redirectPort: port,
  };
}

/** Starts a proxy, waits until it accepts connections and returns its port. The proxy stops at the end of the test. */
export async function startProxy(t: Owner, { file, args, port }: DocumentedProxy): Promise<number> {
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, PATH } });
  const errors = text(child.stderr);
  const ended = once(child, 'close');
  atEnd(t, async () => {
    child.kill('SIGTERM');
    await ended;
  });
  await until(`${file} accepts connections`, async () => {
    if (child.exitCode !== null) assert.fail(`${file} ended: ${await errors}`);
    return acceptsConnections(port);
  });
  return port;
}

/** The search path, including the folders in which Debian installs system programs. */
export const PATH = `${process.env['PATH']}:/usr/sbin:/sbin`;

const read = (file: string) => readFile(new URL(`../../deploy/${file}`, import.meta.url), 'utf8');

function adapt(documented: string, adaptations: readonly (readonly [RegExp, string])[]): string {
  return adaptations.reduce((configuration, [from, to]) => {
    assert.match(configuration, from, 'The file contains the replaced text.');
    return configuration.replace(from, to);
  }, documented);
}
