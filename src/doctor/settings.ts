import { readFile, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname } from 'node:path';
import { parseAccessFile } from '../access/access-file.ts';
import { AccessFileError, readAccessFile } from '../access/access-file-syntax.ts';
import { type Check, type Finding, failed, ok, warning } from '../checks/check.ts';
import { isWritable, nearestFolder } from '../checks/probe.ts';
import { servedFolder } from '../config/config.ts';
import type { Config } from '../config/settings.ts';
import { DatabaseFault, type Engine } from '../database/engine.ts';
import { newerDatabase, readVersion } from '../database/migrate.ts';
import { MIGRATIONS } from '../database/migrations/history.ts';
import { openEngine } from '../database/open.ts';
import { systemErrorCode } from '../model/error.ts';
import { requirePrivatePaths } from '../server/private-paths.ts';
import { connectRedis } from '../server/redis.ts';
import { auditFolderOf } from '../server/volumes.ts';
import { SettingsError } from '../settings/setting.ts';
import { minFreeBytes } from '../stores/layers/min-free-space.ts';
import { backendOf } from '../stores/registry.ts';
import { isLoopback, spaceOf } from '../system.ts';
import { findPrograms } from '../thumbnails/find-programs.ts';
import type { FoundPrograms, StillKind } from '../thumbnails/programs.ts';

/** Free space below which a file system is reported. */
const MIN_FREE_BYTES = 2 ** 30;
const MIN_FREE_INODES = 10_000;

/** Checks of the settings and the machine that don't need the store. */
export const SETTINGS_CHECKS: readonly Check<Config>[] = [
  {
    name: 'private-paths',
    async run(config) {
      await requirePrivatePaths(config);
      return ok("Holdall's own files are outside the served folder.");
    },
    explain: (error) =>
      error instanceof SettingsError ? 'Move it out of DISK_ROOT, and update the setting.' : 'Check DISK_ROOT.',
  },
  {
    name: 'access',
    async run({ HOST, ACCESS, ACCESS_FILE }) {
      if (ACCESS_FILE === undefined) {
        if (ACCESS === undefined) return ok('Only this machine has access, with all permissions.');
        const found = `ACCESS=open: everyone who can reach the service has all permissions (HOST=${HOST}).`;
        return isLoopback(HOST)
          ? ok(found)
          : warning(found, 'Set ACCESS_FILE instead of ACCESS, unless only trusted users can reach the network.');
      }
      const { text } = await readAccessFile(ACCESS_FILE);
      const { users, grants, warnings } = parseAccessFile(text, ACCESS_FILE);
      const found = `${ACCESS_FILE} is valid (users: ${users.length}, grants: ${grants.length}).`;
      return warnings.length === 0
        ? ok(found)
        : warning(`${found} ${warnings.join(' ')}`, `Correct ${ACCESS_FILE} if this is not intended.`);
    },
    explain: (error, { ACCESS_FILE }) =>
      error instanceof AccessFileError
        ? `Correct the file, then check it: npx holdall access check ${ACCESS_FILE}`
        : 'Check ACCESS_FILE.',
  },
  {
    name: 'secret-files',
    async run({ ACCESS_FILE, secretFiles }) {
      const files = [
        '.env',
        ...(ACCESS_FILE === undefined ? [] : [ACCESS_FILE]),
        ...secretFiles.map(({ path }) => path),
      ];
      const open: string[] = [];
      for (const file of files) {
        const { mode } = (await stat(file).catch(unlessMissing)) ?? { mode: 0 };
        if ((mode & 0o007) !== 0) open.push(file);
      }
      if (open.length === 0) return ok("Other users of this machine can't read the files with secrets.");
      const found = `All users of this machine can read or change ${open.join(' and ')}.`;
      return warning(found, `chmod o-rwx ${open.join(' ')}`);
    },
    explain: () => 'Check .env, ACCESS_FILE and the files of secrets.',
  },
  {
    name: 'public-address',
    concerns: ({ HOST, PUBLIC_URL }) => PUBLIC_URL !== undefined || !isLoopback(HOST),
    async run({ HOST, PUBLIC_URL, TRUST_PROXY }) {
      if (PUBLIC_URL === undefined) {
        return warning(
          `Other machines can reach HOST=${HOST}, and PUBLIC_URL is not set: the service accepts requests for any host.`,
          'Set PUBLIC_URL to the URL that users open.',
        );
      }
      const { protocol, hostname } = new URL(PUBLIC_URL);
      if (protocol === 'http:' && !isLoopback(hostname)) {
        return warning(
          `PUBLIC_URL=${PUBLIC_URL} has no HTTPS: the network can read passwords and files.`,
          'Add a reverse proxy with HTTPS (docs/how-to/reverse-proxies.md), and set PUBLIC_URL to its https:// URL.',
        );
      }
      if (protocol === 'https:' && TRUST_PROXY === undefined) {
        return warning(
          'A proxy terminates TLS for PUBLIC_URL, and TRUST_PROXY is not set: all requests seem to come from the proxy.',
          'Set TRUST_PROXY to the address of the proxy, or to loopback for this machine.',
        );
      }
      return ok(`The public URL is ${PUBLIC_URL}.`);
    },
    explain: () => 'Check PUBLIC_URL.',
  },
  {
    name: 'own-folders',
    async run({ STATE_DIR, CACHE_DIR, AUDIT_LOG }) {
      const folders = { STATE_DIR, CACHE_DIR, AUDIT_LOG: auditFolderOf(AUDIT_LOG) };
      for (const [name, folder] of Object.entries(folders)) {
        if (folder === undefined || (await isWritable(await nearestFolder(folder)))) continue;
        return failed(
          `The folder of ${name}, ${folder}, can't be written to.`,
          `Give ${folder} to the user of the service, or set ${name} to another folder.`,
        );
      }
      return ok('The folders of STATE_DIR, CACHE_DIR and AUDIT_LOG are writable or not set.');
    },
    explain: () => 'Check STATE_DIR, CACHE_DIR and AUDIT_LOG.',
  },
  {
    name: 'disk-space',
    async run(config) {
      const { CACHE_DIR, AUDIT_LOG, MIN_FREE_SPACE } = config;
      const folders = [
        servedFolder(config)?.path,
        backendOf(config).stateFolder(config),
        CACHE_DIR,
        tmpdir(),
        auditFolderOf(AUDIT_LOG),
      ];
      const existing = await Promise.all(folders.filter((folder) => folder !== undefined).map(nearestFolder));
      const found: string[] = [];
      const scarce: string[] = [];
      for (const folder of new Set(existing)) {
        const { ffree, files } = await statfs(folder);
        const space = await spaceOf(folder);
        const free = `${folder}: ${Math.floor(space.available / 2 ** 20)} MiB`;
        const hasFewInodes = files > 0 && ffree < MIN_FREE_INODES;
        const isScarce = space.available < Math.max(MIN_FREE_BYTES, minFreeBytes(space, MIN_FREE_SPACE));
        if (isScarce || hasFewInodes) scarce.push(hasFewInodes ? `${free} and ${ffree} inodes` : free);
        found.push(free);
      }
      if (scarce.length === 0) return ok(`Free space: ${found.join(', ')}.`);
      return warning(
        `Little space is free: ${scarce.join(', ')}.`,
        `Free space there, or move DISK_ROOT, STATE_DIR, CACHE_DIR, AUDIT_LOG or TMPDIR, which holds uploads in progress. Below MIN_FREE_SPACE, a disk takes no new content.`,
      );
    },
    explain: () => 'Check DISK_ROOT, STATE_DIR, CACHE_DIR, AUDIT_LOG and TMPDIR.',
  },
  {
    name: 'thumbnail-programs',
    concerns: ({ THUMBNAIL_PROGRAMS }) => THUMBNAIL_PROGRAMS,
    run: async () => describePrograms(await findPrograms()),
    explain: () => 'Check bubblewrap: bwrap --unshare-all --ro-bind / / true',
  },
  {
    name: 'open-files',
    concerns: () => process.platform === 'linux',
    async run({ MAX_CONNECTIONS }) {
      const limits = await readFile('/proc/self/limits', 'utf8');
      const limit = Number(/^Max open files\s+\S+\s+(\S+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY);
      // Each connection uses a file descriptor, and so does each file or request that it opens in the store.
      const required = MAX_CONNECTIONS + 1000;
      if (Number.isNaN(limit) || limit >= required) return ok(`A process can open ${limit} files.`);
      return warning(
        `A process can open ${limit} files, and MAX_CONNECTIONS=${MAX_CONNECTIONS} can require ${required}.`,
        `Raise the limit: LimitNOFILE=${required} in the systemd unit, or ulimit -n ${required}; or lower MAX_CONNECTIONS.`,
      );
    },
    explain: () => 'Check the limits of the process: ulimit -n.',
  },
  {
    name: 'database',
    timeout: 15_000,
    async run(config) {
      const { DATABASE_URL: url, REDIS_URL } = config;
      const engine = await openEngine({ url, stateFolder: backendOf(config).stateFolder(config) });
      const found = await describeDatabase(engine).catch((error: unknown) => {
        throw engine.faultOf(error) ?? error;
      });
      if (url !== undefined || REDIS_URL === undefined) return ok(found);
      return warning(
        `${found} Several machines share Redis, but DATABASE_URL is not set: each machine has a database of its own.`,
        'Set DATABASE_URL to the same PostgreSQL database on all machines.',
      );
    },
    explain: (error) =>
      error instanceof DatabaseFault && error.kind === 'newer'
        ? 'Install the newer version of Holdall, or restore a backup: see docs/how-to/backup.md.'
        : 'Check DATABASE_URL and STATE_DIR. Files are served without the database.',
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
          signal.addEventListener('abort', () => reject(new Error('Redis does not respond.')), { once: true });
        });
        await redis.ping();
      } finally {
        close();
      }
      const found = 'Redis responds.';
      if (SIGNING_KEY !== undefined) return ok(found);
      return warning(
        `${found} Several machines share Redis, but SIGNING_KEY is not set: each generates its own key, so sessions are valid on one machine only.`,
        'Set SIGNING_KEY to the same secret on all machines: openssl rand -hex 32',
      );
    },
    explain: () => 'Check REDIS_URL, and that Redis runs and accepts connections from this machine.',
  },
];

/** Describes a database. Changes nothing in it, and does not create one. Throws `DatabaseFault` if it can't be used. */
async function describeDatabase(engine: Engine): Promise<string> {
  const { place } = engine;
  if (!(await engine.exists())) {
    if (await isWritable(await nearestFolder(dirname(place)))) return `The database ${place} is created at the start.`;
    throw new DatabaseFault('read-only', `The database ${place} does not exist, and its folder can't be written to.`);
  }
  await using connection = await engine.connect({ isReadOnly: true });
  const version = await readVersion(engine, connection.db);
  if (version > MIGRATIONS.length) throw newerDatabase(engine, version, MIGRATIONS.length);
  return `The database ${place} responds (version ${version} of ${MIGRATIONS.length}).`;
}

function unlessMissing(error: unknown): undefined {
  if (systemErrorCode(error) !== 'ENOENT') throw error;
}

/** Describes which programs draw videos, PDFs and HEIC images. They are optional, so that only a sandbox that fails or is weak is a warning. */
export function describePrograms({ kinds, missing, lacksHevc, sandboxError, protection }: FoundPrograms): Finding {
  if (sandboxError !== undefined) {
    return warning(
      `Videos, PDFs and HEIC images have no thumbnails, because the sandbox does not start: ${sandboxError}`,
      'Allow user namespaces (docs/how-to/video-thumbnails.md#allow-the-sandbox), or set THUMBNAIL_PROGRAMS=false.',
    );
  }
  const names = new Intl.ListFormat('en-GB').format(kinds.map(nameOfKind));
  const drawn = kinds.length === 0 ? 'Neither videos nor PDFs nor HEIC images have' : `${names} have`;
  const without = missing.length === 0 ? '' : ` Not installed in /usr/bin: ${missing.join(', ')}.`;
  const found = `${drawn} thumbnails.${without}`;
  if (lacksHevc) {
    return warning(
      `${found} HEIC images have none, because libheif has no decoder for them.`,
      'Install the decoder: on Debian and Ubuntu, the package libheif-plugin-libde265. Then restart Holdall.',
    );
  }
  if (protection && !protection.filtersCalls) {
    return warning(
      `${found} Their sandbox is weaker: it does not filter system calls.`,
      'Use Linux with seccomp on x86-64 or ARM64, or set THUMBNAIL_PROGRAMS=false.',
    );
  }
  if (protection && !protection.forbidsNamespaces) {
    return ok(`${found} Only the filter of system calls forbids further user namespaces: bubblewrap before 0.8 can't.`);
  }
  return ok(found);
}

const nameOfKind = (kind: StillKind) => ({ video: 'Videos', pdf: 'PDFs', heic: 'HEIC images' })[kind];
