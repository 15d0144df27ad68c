import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Command, OwnedProcess } from '../../testing/processes.ts';
import { start } from '../../testing/processes.ts';
import { findFreePort } from '../../testing/servers/free-port.ts';
import type { Program } from './programs.ts';
import { get } from './requests.ts';

/** The folders of a server. */
export interface ServedFolder {
  /** The folder whose files are served. */
  readonly root: string;
  /** An empty folder for other files of the server, such as its configuration. */
  readonly scratch: string;
}

/** One way to serve a folder over HTTP. */
export interface Server {
  readonly name: string;
  /** The program that it needs, if it is not a part of Holdall. */
  readonly program?: Program;
  /** The path that returns 200 when the server is ready. */
  readonly readyPath: string;
  /** Returns the URL path of a file by its path in the root. */
  filePath(file: string): string;
  /** Returns the command that starts it. Can write its configuration into the scratch folder of the site. */
  command(site: ServedFolder, port: number): Promise<Command>;
}

/** A server that is ready, and that stops with its owner. */
export interface RunningServer extends AsyncDisposable {
  readonly pid: number;
  /** Seconds from its start to its first response, with a precision of 5 ms. */
  readonly secondsToResponse: number;
  url(path: string): URL;
}

/**
 * Starts a new process of a server on a free port and waits for its first response. Rejects with the output of the server if
 * it ends, or does not respond within 30 seconds.
 */
export async function startServer(server: Server, site: ServedFolder, signal: AbortSignal): Promise<RunningServer> {
  const port = await findFreePort();
  await mkdir(site.scratch, { recursive: true });
  const command = await server.command(site, port);
  const began = performance.now();
  const child = start(command);
  started.push(child);
  const url = (path: string) => new URL(path, `http://127.0.0.1:${port}`);
  try {
    while (!(await isReady(url(server.readyPath), signal))) {
      signal.throwIfAborted();
      const ending = await Promise.race([sleep(5, undefined), child.ended]);
      if (ending) throw new Error(`${server.name} ended before it was ready: ${ending.description}`);
      if (performance.now() > began + 30_000) throw new Error(`${server.name} was not ready after 30 s`);
    }
  } catch (error) {
    await child.stop();
    throw new Error(`cannot start ${server.name}\n${child.lastOutput()}`.trim(), { cause: error });
  }
  const secondsToResponse = (performance.now() - began) / 1000;
  return { pid: child.pid, secondsToResponse, url, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
}

const started: OwnedProcess[] = [];

/** Returns the last lines of each server that was started since this was called. */
export function takeServerOutput(): string {
  const outputs = started.splice(0).map((child) => child.lastOutput().split('\n').slice(-10).join('\n'));
  return outputs.filter(Boolean).join('\n');
}

/**
 * Holdall as `npm start` runs it, on the served folder, or on the store of the settings `storage`. With `workers` 0, it
 * uses its default.
 */
export function holdall(entryFile: string, workers = 0, storage?: Readonly<Record<string, string>>): Server {
  return {
    name: 'holdall',
    readyPath: '/-/health/ready',
    filePath: (file) => `/file/${file}`,
    command: async ({ root, scratch }, port) => ({
      file: process.execPath,
      args: [entryFile],
      env: {
        HOST: '127.0.0.1',
        PORT: String(port),
        LOG_LEVEL: 'warn',
        // Staged uploads and thumbnails are on the same disk, and are removed with the measurement.
        ...(storage ? { ...storage, CACHE_DIR: join(scratch, 'cache'), TMPDIR: scratch } : { DISK_ROOT: root }),
        ...(workers > 0 && { WORKERS: String(workers) }),
      },
      // Not the checkout, because Holdall would read a developer's .env there.
      workingFolder: scratch,
    }),
  };
}

/** Holdall with a database that is unreachable, so that it drops the changes for its log. */
export function holdallWithoutLog(entryFile: string): Server {
  const server = holdall(entryFile);
  return {
    ...server,
    name: 'holdall without a change log',
    async command(site, port) {
      const command = await server.command(site, port);
      // Port 9 (discard) has no listener.
      return { ...command, env: { ...command.env, DATABASE_URL: 'postgres://user:password@127.0.0.1:9/none' } };
    },
  };
}

/** The limit of a static file server: no features, `sendfile`, one process per core. */
export const nginx: Server = {
  name: 'nginx',
  program: 'nginx',
  readyPath: '/',
  filePath: (file) => `/${file}`,
  command: async (site, port) => {
    const configuration = join(site.scratch, 'nginx.conf');
    await writeFile(configuration, nginxConfiguration(site, port));
    return { file: 'nginx', args: ['-e', 'stderr', '-p', site.scratch, '-c', configuration] };
  },
};

/** Debian's caddy, as its manual starts it to share a folder. */
export const caddy: Server = {
  name: 'caddy',
  program: 'caddy',
  readyPath: '/',
  filePath: (file) => `/${file}`,
  command: async ({ root, scratch }, port) => ({
    file: 'caddy',
    args: ['file-server', '--root', root, '--listen', `127.0.0.1:${port}`, '--browse'],
    env: { HOME: scratch, XDG_CONFIG_HOME: scratch, XDG_DATA_HOME: scratch },
  }),
};

/** `rclone serve http` for reading and listing, and `rclone serve webdav` for uploads. */
export function rclone(protocol: 'http' | 'webdav'): Server {
  return {
    name: 'rclone',
    program: 'rclone',
    readyPath: '/',
    filePath: (file) => `/${file}`,
    command: async ({ root, scratch }, port) => ({
      file: 'rclone',
      args: ['serve', protocol, root, '--addr', `127.0.0.1:${port}`, '--config', join(scratch, 'rclone.conf')],
    }),
  };
}

async function isReady(url: URL, signal: AbortSignal): Promise<boolean> {
  try {
    return (await get(url, {}, signal)).status === 200;
  } catch {
    return false;
  }
}

/**
 * Returns the configuration of nginx with additional directives of its server.
 *
 * Without `open_file_cache`, so that each request reads the current file, as with all other servers here. Keep-alive
 * connections are not closed after 1,000 requests, the default, because no other server does that.
 */
export function nginxConfiguration({ root, scratch }: ServedFolder, port: number, directives = ''): string {
  const temporaryFolders = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((module) => `${module}_temp_path ${scratch}/${module};`)
    .join(' ');
  return `
daemon off; worker_processes auto; pid ${scratch}/nginx.pid; error_log stderr warn;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 1024; }
http {
  access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
  default_type application/octet-stream; ${temporaryFolders}
  server { listen 127.0.0.1:${port}; root ${root}; autoindex on; autoindex_format json; ${directives} }
}
`;
}
