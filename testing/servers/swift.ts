import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { assertDeclared } from '../../tests/runner/declared.ts';
import { findFreePort } from './free-port.ts';
import { DEFAULT_REGION, type ObjectStore } from './object-store.ts';
import { type StoreProcesses, startStore } from './store-processes.ts';

/** An OpenStack Swift on this machine, with its S3 middleware (s3api): one disk, one replica. */
export interface Swift extends ObjectStore {
  /** Stops Swift and removes all its data. Swift also stops when this process ends, for any reason. */
  stop(): Promise<void>;
}

/** The Debian package of each command that the tests call. */
export const SWIFT_COMMANDS = {
  'swift-proxy-server': 'swift-proxy',
  'swift-account-server': 'swift-account',
  'swift-container-server': 'swift-container',
  'swift-object-server': 'swift-object',
  'swift-ring-builder': 'swift',
  memcached: 'memcached',
} as const;

/**
 * Starts an empty Swift in a temporary folder, whose file system must support extended attributes, on free ports of
 * 127.0.0.1. Takes about five seconds. Rejects with the output of the servers if the start fails.
 */
export function startSwift(): Promise<Swift> {
  assertDeclared('swift');
  return startStore({ name: 'Swift' }, bringUp);
}

/** The storage servers. Each has a ring: the file that maps items to disks. */
const STORAGE_SERVERS = ['account', 'container', 'object'] as const;

async function bringUp(swift: StoreProcesses): Promise<ObjectStore> {
  const { folder } = swift;
  await mkdir(join(folder, 'disks', 'disk1'), { recursive: true });
  await writeFile(join(folder, 'swift.conf'), SWIFT_CONFIGURATION);
  await Promise.all(
    STORAGE_SERVERS.map(async (server) => {
      const port = await findFreePort();
      await buildRing(swift, server, port);
      await startServer(swift, server, storageConfiguration(server, folder, port));
    }),
  );
  // The authentication middleware refuses to work without memcached.
  const cachePort = await findFreePort();
  swift.startDaemon('memcached', '-l', '127.0.0.1', '-p', String(cachePort), '-u', userInfo().username);
  const port = await findFreePort();
  const secretAccessKey = randomBytes(20).toString('hex');
  await startServer(swift, 'proxy', proxyConfiguration(folder, { port, cachePort, secret: secretAccessKey }));
  const endpoint = `http://127.0.0.1:${port}`;
  await swift.until('the proxy responds', () => isHealthy(endpoint));
  return { endpoint, region: DEFAULT_REGION, accessKeyId: `${ACCOUNT}:${USER}`, secretAccessKey };
}

const ACCOUNT = 'tests';
const USER = 'admin';

/** Builds a ring with one replica on one disk. */
async function buildRing(swift: StoreProcesses, server: string, port: number): Promise<void> {
  const ring = join(swift.folder, `${server}.builder`);
  await swift.run('swift-ring-builder', ring, 'create', '2', '1', '1');
  await swift.run('swift-ring-builder', ring, 'add', `r1z1-127.0.0.1:${port}/disk1`, '1');
  await swift.run('swift-ring-builder', ring, 'rebalance');
}

async function startServer(swift: StoreProcesses, server: string, configuration: string): Promise<void> {
  const file = join(swift.folder, `${server}.conf`);
  await writeFile(file, configuration);
  // Swift needs Debian's Python, not the one on the PATH. The server commands only read /etc/swift/swift.conf.
  swift.startDaemon('/usr/bin/python3', '-c', LAUNCHER, swift.folder, file, `${server}-server`);
}

const LAUNCHER = `
import sys
from swift.common import utils
utils.set_swift_dir(sys.argv[1])
from swift.common.wsgi import run_wsgi
sys.exit(run_wsgi(sys.argv[2], sys.argv[3]))
`;

const SWIFT_CONFIGURATION = `
[swift-hash]
swift_hash_path_suffix = tests
[storage-policy:0]
name = one
default = yes
`;

/** Returns the common settings. With `workers = 0`, a server handles requests in its main process. */
function defaults(folder: string, port: number): string {
  return `
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
user = ${userInfo().username}
swift_dir = ${folder}
log_level = WARNING
`;
}

function storageConfiguration(server: string, folder: string, port: number): string {
  return `${defaults(folder, port)}
devices = ${folder}/disks
mount_check = false
disable_fallocate = true
[pipeline:main]
pipeline = ${server}-server
[app:${server}-server]
use = egg:swift#${server}
`;
}

/** Returns the pipeline that the documentation of s3api recommends, without the filters that the tests don't need. */
function proxyConfiguration(
  folder: string,
  { port, cachePort, secret }: { readonly port: number; readonly cachePort: number; readonly secret: string },
): string {
  const filters = [
    'catch_errors',
    'gatekeeper',
    'healthcheck',
    'cache',
    'listing_formats',
    'bulk',
    's3api',
    'tempauth',
  ];
  const middleware = ['copy', 'slo', 'dlo', 'versioned_writes', 'symlink'];
  const options: Readonly<Record<string, string>> = {
    cache: `memcache_servers = 127.0.0.1:${cachePort}`,
    s3api: `location = ${DEFAULT_REGION}`,
    tempauth: `user_${ACCOUNT}_${USER} = ${secret} .admin`,
    versioned_writes: 'allow_object_versioning = true',
  };
  const names = [...filters, ...middleware];
  return `${defaults(folder, port)}
[pipeline:main]
pipeline = ${names.join(' ')} proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
${names.map((name) => `[filter:${name}]\nuse = egg:swift#${name === 'cache' ? 'memcache' : name}\n${options[name] ?? ''}`).join('\n')}
`;
}

async function isHealthy(endpoint: string): Promise<boolean> {
  try {
    const response = await fetch(`${endpoint}/healthcheck`, { signal: AbortSignal.timeout(1000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
