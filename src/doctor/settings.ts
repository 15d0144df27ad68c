import { readFile, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { parseAccessFile } from '../access/access-file.ts';
import { AccessFileError, readAccessFile } from '../access/access-file-syntax.ts';
import { type Check, failed, ok, warning } from '../checks/check.ts';
import { isWritable, nearestFolder } from '../checks/probe.ts';
import { servedFolder } from '../config/config.ts';
import type { Config } from '../config/settings.ts';
import { systemErrorCode } from '../model/error.ts';
import { requirePrivatePaths } from '../server/private-paths.ts';
import { connectRedis } from '../server/redis.ts';
import { SettingsError } from '../settings/setting.ts';
import { isLoopback } from '../system.ts';

/** Free space below which a file system is reported. */
const MIN_FREE_BYTES = 2 ** 30;
const MIN_FREE_INODES = 10_000;

/** Checks of the settings and the machine that don't need the store. */
export const SETTINGS_CHECKS: readonly Check<Config>[] = [
  {
    name: 'private-paths',
    async run(config) {
      await requirePrivatePaths(config);
      return ok('Nothing of the service lies among the files that it serves.');
    },
    explain: (error) =>
      error instanceof SettingsError ? 'Move it out of DISK_ROOT, and change the setting.' : 'Look at DISK_ROOT.',
  },
  {
    name: 'access',
    async run({ HOST, ACCESS, ACCESS_FILE }) {
      if (ACCESS_FILE === undefined) {
        if (ACCESS === undefined) return ok('This machine alone reaches the service, and may do everything.');
        const found = `ACCESS=open: whoever reaches the service may do everything (HOST=${HOST}).`;
        return isLoopback(HOST)
          ? ok(found)
          : warning(found, 'Set ACCESS_FILE in the place of ACCESS, unless the network keeps all others out.');
      }
      const { text } = await readAccessFile(ACCESS_FILE);
      const { users, grants, warnings } = parseAccessFile(text, ACCESS_FILE);
      const found = `${ACCESS_FILE} is right: people: ${users.length}, grants: ${grants.length}.`;
      return warnings.length === 0
        ? ok(found)
        : warning(`${found} ${warnings.join(' ')}`, `Change ${ACCESS_FILE}, if so.`);
    },
    explain: (error, { ACCESS_FILE }) =>
      error instanceof AccessFileError
        ? `Put it right, and see it with: npx holdall access check ${ACCESS_FILE}`
        : 'Look at ACCESS_FILE.',
  },
  {
    name: 'secret-files',
    async run({ ACCESS_FILE }) {
      const files = ['.env', ...(ACCESS_FILE === undefined ? [] : [ACCESS_FILE])];
      const open: string[] = [];
      for (const file of files) {
        const { mode } = (await stat(file).catch(unlessMissing)) ?? { mode: 0 };
        if ((mode & 0o007) !== 0) open.push(file);
      }
      if (open.length === 0) return ok('No file with secrets is open to everybody on this machine.');
      const found = `Everybody on this machine may read or change ${open.join(' and ')}.`;
      return warning(found, `chmod o-rwx ${open.join(' ')}`);
    },
    explain: () => 'Look at .env and ACCESS_FILE.',
  },
  {
    name: 'public-address',
    concerns: ({ HOST, PUBLIC_URL }) => PUBLIC_URL !== undefined || !isLoopback(HOST),
    async run({ HOST, PUBLIC_URL, TRUST_PROXY }) {
      if (PUBLIC_URL === undefined) {
        return warning(
          `HOST=${HOST} is reached by others, and PUBLIC_URL is not set: requests for any host are taken.`,
          'Set PUBLIC_URL to the address by which people come.',
        );
      }
      const { protocol, hostname } = new URL(PUBLIC_URL);
      if (protocol === 'http:' && !isLoopback(hostname)) {
        return warning(
          `PUBLIC_URL=${PUBLIC_URL} is without HTTPS: others on the way can read passwords and files.`,
          'Put a proxy with HTTPS before the service, as docs/reverse-proxies.md has it, and set PUBLIC_URL to its https:// address.',
        );
      }
      if (protocol === 'https:' && TRUST_PROXY === undefined) {
        return warning(
          'PUBLIC_URL is of https, which a proxy ends, and TRUST_PROXY is not set: everybody seems to come from the proxy.',
          'Set TRUST_PROXY to the address of the proxy: loopback for one on this machine.',
        );
      }
      return ok(`People come by ${PUBLIC_URL}.`);
    },
    explain: () => 'Look at PUBLIC_URL.',
  },
  {
    name: 'own-folders',
    async run({ STATE_DIR, CACHE_DIR, AUDIT_LOG }) {
      const isFile = AUDIT_LOG !== 'stdout' && AUDIT_LOG !== 'off';
      const folders = { STATE_DIR, CACHE_DIR, AUDIT_LOG: isFile ? dirname(resolve(AUDIT_LOG)) : undefined };
      for (const [name, folder] of Object.entries(folders)) {
        if (folder === undefined || (await isWritable(await nearestFolder(folder)))) continue;
        return failed(
          `The folder of ${name}, ${folder}, can't be written to.`,
          `Give ${folder} to the user that runs the service, or set ${name} to another place.`,
        );
      }
      return ok('The folders of STATE_DIR, CACHE_DIR and AUDIT_LOG can be written to, as far as they are set.');
    },
    explain: () => 'Look at STATE_DIR, CACHE_DIR and AUDIT_LOG.',
  },
  {
    name: 'disk-space',
    async run(config) {
      const { CACHE_DIR } = config;
      const served = servedFolder(config);
      const wanted = [tmpdir(), ...(served ? [served.path] : []), ...(CACHE_DIR ? [CACHE_DIR] : [])];
      const places = await Promise.all(wanted.map(nearestFolder));
      const found: string[] = [];
      for (const place of new Set(places)) {
        const { bavail, bsize, ffree, files } = await statfs(place);
        const free = bavail * bsize;
        if (free < MIN_FREE_BYTES || (files > 0 && ffree < MIN_FREE_INODES)) {
          return warning(
            `${Math.floor(free / 2 ** 20)} MiB and ${ffree} inodes are free where ${place} is.`,
            `Make room there, or move it: DISK_ROOT, CACHE_DIR, and TMPDIR for uploads on their way.`,
          );
        }
        found.push(`${place}: ${Math.floor(free / 2 ** 20)} MiB`);
      }
      return ok(`There is room: ${found.join(', ')}.`);
    },
    explain: () => 'Look at DISK_ROOT, CACHE_DIR and TMPDIR.',
  },
  {
    name: 'open-files',
    concerns: () => process.platform === 'linux',
    async run({ MAX_CONNECTIONS }) {
      const limits = await readFile('/proc/self/limits', 'utf8');
      const most = Number(/^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
      // Each connection uses a file descriptor, and so does each file or request that it opens in the store.
      const wanted = MAX_CONNECTIONS + 1000;
      if (Number.isNaN(most) || most >= wanted) return ok(`A process may have ${most} files open at once.`);
      return warning(
        `A process may have ${most} files open at once, and with MAX_CONNECTIONS=${MAX_CONNECTIONS} the service may need ${wanted}.`,
        `Raise the limit: LimitNOFILE=${wanted} in the systemd unit, or ulimit -n ${wanted}; or set a smaller MAX_CONNECTIONS.`,
      );
    },
    explain: () => 'Look at the limits of the process: ulimit -n.',
  },
  {
    name: 'redis',
    concerns: ({ REDIS_URL }) => REDIS_URL !== undefined,
    timeout: 10_000,
    async run({ REDIS_URL = '', SIGNING_KEY }, signal) {
      const { redis, close } = connectRedis(REDIS_URL, { info() {}, warn() {} });
      try {
        await new Promise<void>((resolveReady, reject) => {
          redis.once('ready', () => resolveReady());
          redis.once('error', reject);
          signal.addEventListener('abort', () => reject(new Error('Redis did not answer.')), { once: true });
        });
        await redis.ping();
      } finally {
        close();
      }
      const found = 'Redis answers.';
      if (SIGNING_KEY !== undefined) return ok(found);
      return warning(
        `${found} It is for services on several machines, and SIGNING_KEY is not set: each makes a key of its own, so that sessions hold on one machine alone.`,
        'Set SIGNING_KEY to the same secret on all of them: openssl rand -hex 32',
      );
    },
    explain: () => 'Look at REDIS_URL, and whether Redis runs and takes connections from here.',
  },
];

function unlessMissing(error: unknown): undefined {
  if (systemErrorCode(error) !== 'ENOENT') throw error;
}
