import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assertDeclared } from '../../tests/runner/declared.ts';
import { cleanUpAtExit } from '../exit-cleanup.ts';
import { childrenOf } from '../holdall.ts';
import { type OwnedProcess, start } from '../processes.ts';
import { until } from '../until.ts';
import { acceptsConnections } from './accepts-connections.ts';
import { findFreePort } from './free-port.ts';

/** nginx on this machine with the configuration of `deploy/nginx.conf`. */
export interface Nginx {
  readonly port: number;
  /**
   * Forwards requests only to these replicas, each as `host:port`. Resolves when no worker with an older list is left.
   */
  use(replicas: readonly string[]): Promise<void>;
  /** Stops nginx. It also stops when this process ends, for any reason. */
  stop(): Promise<void>;
}

/**
 * Starts nginx in front of these replicas, each as `host:port`, on a free port of 127.0.0.1. Only addresses, ports and
 * the certificate differ from the documented configuration.
 */
export async function startDocumentedNginx(replicas: readonly string[]): Promise<Nginx> {
  assertDeclared('nginx');
  const folder = await mkdtemp(join(tmpdir(), 'holdall-nginx-'));
  const forget = cleanUpAtExit({ kind: 'folder', name: folder });
  const port = await findFreePort();
  const otherPort = await findFreePort();
  const documented = await readFile(new URL('../../deploy/nginx.conf', import.meta.url), 'utf8');
  const configure = (replicasInUse: readonly string[]) =>
    writeFile(join(folder, 'holdall.conf'), adapt(documented, { replicas, replicasInUse, port, otherPort }));
  await writeFile(join(folder, 'nginx.conf'), nginxConf(folder));
  await configure(replicas);

  const server = start({ file: 'nginx', args: ['-e', 'stderr', '-p', folder, '-c', join(folder, 'nginx.conf')] });
  const stop = async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
    forget();
  };
  try {
    await untilItListens(server, port);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    port,
    async use(replicasInUse) {
      await configure(replicasInUse);
      const before = childrenOf(server.pid);
      process.kill(server.pid, 'SIGHUP');
      // A worker that accepts no more connections may still have a request to forward.
      await until('all workers are new', () => {
        const workers = childrenOf(server.pid);
        return workers.length === WORKERS && !workers.some((pid) => before.includes(pid));
      });
    },
    stop,
  };
}

const WORKERS = 2;

interface Adaptation {
  readonly replicas: readonly string[];
  /** The replicas that get requests. */
  readonly replicasInUse: readonly string[];
  readonly port: number;
  readonly otherPort: number;
}

/** The name of the response header with the address of each replica that nginx sent the request to. */
export const ATTEMPTS_HEADER = 'x-upstream-attempts';

/** Returns the documented configuration for these replicas, without TLS, and with `ATTEMPTS_HEADER`. */
function adapt(documented: string, { replicas, replicasInUse, port, otherPort }: Adaptation): string {
  const lineOf = (replica: string, rest: string) =>
    `server ${replica}${rest}${replicasInUse.includes(replica) ? '' : ' down'};`;
  const adaptations: [RegExp, (...matched: string[]) => string][] = [
    [/^ {4}server 127\.0\.0\.1:8080( .+)?;$/m, (_, rest = '') => replicas.map((each) => lineOf(each, rest)).join('\n')],
    [/listen 443 ssl;/, () => `listen 127.0.0.1:${port};`],
    [/listen 80;/, () => `listen 127.0.0.1:${otherPort};`],
    [
      /^ {4}ssl_certificate .*\n {4}ssl_certificate_key .*$/m,
      () => `    add_header ${ATTEMPTS_HEADER} $upstream_addr always;`,
    ],
  ];
  return adaptations.reduce((configuration, [from, to]) => {
    assert.match(configuration, from, 'deploy/nginx.conf contains the replaced text.');
    return configuration.replace(from, to);
  }, documented);
}

/** The nginx.conf of a distribution, with all paths in the folder. */
function nginxConf(folder: string): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
daemon off;
${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes ${WORKERS};
pid ${folder}/nginx.pid;
events { worker_connections 1024; }
http {
    access_log off;
    ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n    ')}
    include ${folder}/holdall.conf;
}
`;
}

async function untilItListens(server: OwnedProcess, port: number): Promise<void> {
  let ending: string | undefined;
  void server.ended.then(({ description }) => (ending = description));
  await until('nginx accepts connections', () => {
    if (ending !== undefined) throw new Error(`nginx ended: ${ending}\n${server.lastOutput()}`);
    return acceptsConnections(port);
  });
}
