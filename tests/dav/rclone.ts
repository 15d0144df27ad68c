import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { atEnd, type Owner } from '../../testing/holdall.ts';
import { acceptsConnections } from '../../testing/servers/accepts-connections.ts';
import { findFreePort } from '../../testing/servers/free-port.ts';
import { until } from '../../testing/until.ts';
import { assertDeclared } from '../runner/declared.ts';
import { PASSWORD, USER } from './dav-service.ts';

const execute = promisify(execFile);

/** The output of an rclone command. */
export interface RcloneOutput {
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs rclone commands; `dav:` is the server at the URL. Rejects if a command fails. */
export type Rclone = (...args: string[]) => Promise<RcloneOutput>;

/**
 * Returns an rclone for the WebDAV server at this URL. The vendor selects the extensions that rclone uses: `owncloud` sets
 * modification times by `X-OC-Mtime`.
 */
export async function rcloneFor(url: string, vendor: 'other' | 'owncloud' | 'nextcloud' | 'rclone'): Promise<Rclone> {
  assertDeclared('rclone');
  const { stdout } = await execute('rclone', ['obscure', PASSWORD]);
  const env = {
    PATH: process.env['PATH'],
    LC_ALL: 'C.UTF-8',
    RCLONE_CONFIG: '/dev/null',
    RCLONE_CONFIG_DAV_TYPE: 'webdav',
    RCLONE_CONFIG_DAV_URL: url,
    RCLONE_CONFIG_DAV_VENDOR: vendor,
    RCLONE_CONFIG_DAV_USER: USER,
    RCLONE_CONFIG_DAV_PASS: stdout.trim(),
    // Fails at once instead of hiding errors.
    RCLONE_RETRIES: '1',
    RCLONE_LOW_LEVEL_RETRIES: '1',
  };
  return (...args) => execute('rclone', args, { env });
}

/** Serves a folder with `rclone serve webdav` until its owner ends. Returns the URL. */
export async function serveByRclone(t: Owner, folder: string): Promise<string> {
  assertDeclared('rclone');
  const port = await findFreePort();
  const login = ['--user', USER, '--pass', PASSWORD];
  const args = ['--config', '/dev/null', 'serve', 'webdav', folder, '--addr', `127.0.0.1:${port}`, ...login];
  const child = spawn('rclone', args, { stdio: 'ignore' });
  const ended = once(child, 'close');
  atEnd(t, async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await until('rclone serves', () => acceptsConnections(port));
  return `http://127.0.0.1:${port}/`;
}
