import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { assertDeclared } from '../../tests/runner/declared.ts';
import { acceptsConnections } from './accepts-connections.ts';
import { findFreePort } from './free-port.ts';
import { DEFAULT_REGION, type ObjectStore } from './object-store.ts';
import { type Daemon, type StoreProcesses, startStore } from './store-processes.ts';

/** A Ceph cluster on this machine: one monitor, one disk, one S3 gateway. */
export interface Ceph extends ObjectStore {
  /** The process IDs at the start. */
  readonly pids: { readonly monitor: number; readonly storage: number; readonly gateway: number };
  /** Kills the S3 gateway (SIGKILL) and settles when it has ended. Stored objects remain. */
  killGateway(): Promise<void>;
  /** Starts the killed gateway again at the same address and waits until it responds. */
  startGateway(): Promise<void>;
  /** Applies the lifecycle rules of all buckets now, with seconds instead of days. */
  applyLifecycles(): Promise<void>;
  /** Stops the cluster and removes all its data. The cluster also stops when this process ends, for any reason. */
  stop(): Promise<void>;
}

/** The Debian package of each command that the tests call. The benchmarks call `ceph` for its version. */
export const CEPH_COMMANDS = {
  'ceph-mon': 'ceph-mon',
  'ceph-osd': 'ceph-osd',
  ceph: 'ceph-common',
  monmaptool: 'ceph-base',
  radosgw: 'radosgw',
  'radosgw-admin': 'ceph-common',
} as const;

/**
 * Starts an empty cluster in a new folder below `parent`, on free ports of 127.0.0.1, with the gateway on `address`.
 * Takes about two seconds. Rejects with the output of the daemons if the start fails, and with the signal's reason if
 * the signal aborts. A failed start leaves no processes or files.
 */
export function startCeph({
  signal,
  parent,
  address = '127.0.0.1',
  objects = 'on disk',
}: CephOptions = {}): Promise<Ceph> {
  assertDeclared('ceph');
  const environment = (folder: string) => ({
    CEPH_CONF: join(folder, CONFIGURATION_FILE),
    // Otherwise the commands ask the monitor for settings first, lose the cluster's id, and may call before it runs.
    CEPH_ARGS: '--no-mon-config',
  });
  return startStore({ name: 'Ceph', parent, environment, signal }, (processes) => bringUp(processes, address, objects));
}

interface CephOptions {
  readonly signal?: AbortSignal | undefined;
  /** The folder for the files of the daemons. Default: that for temporary files. */
  readonly parent?: string;
  /** Default: 127.0.0.1. */
  readonly address?: string;
  /**
   * Where the objects are. In memory, a request takes about a third of the time, and the objects are lost when the storage
   * process ends. For tests that store at most some hundred megabytes together. Default: on disk.
   */
  readonly objects?: ObjectsPlace;
}

type ObjectsPlace = 'on disk' | 'in memory';

const CONFIGURATION_FILE = 'ceph.conf';

async function bringUp(cluster: StoreProcesses, address: string, objects: ObjectsPlace): Promise<Omit<Ceph, 'stop'>> {
  const [clusterId, diskId] = [randomUUID(), randomUUID()];
  const monitorPort = await findFreePort();
  await mkdir(join(cluster.folder, 'disk'));
  const settings = configuration(cluster.folder, { clusterId, monitorPort, objects });
  await writeFile(join(cluster.folder, CONFIGURATION_FILE), settings);
  // Formatting is the slowest step and needs no monitor, so it runs while the monitor starts.
  const formatting = cluster.start('ceph-osd', '--id', '0', '--mkfs', '--osd-uuid', diskId, ...QUICK_CLOSE);
  const { pid: monitor } = await startMonitor(cluster, clusterId, monitorPort);
  const { code, description } = await formatting.ended;
  if (code !== 0) throw new Error(`ceph-osd could not format its disk: ${description}`);
  const { pid: storage } = cluster.startDaemon('ceph-osd', '-f', '--id', '0');
  const endpoint = `http://${address}:${await findFreePort()}`;
  let gateway = await startGateway(cluster, endpoint);
  const key = { accessKeyId: randomBytes(10).toString('hex'), secretAccessKey: randomBytes(20).toString('hex') };
  await createUser(cluster, key);
  return {
    endpoint,
    region: DEFAULT_REGION,
    ...key,
    minPartBytes: MIN_PART_BYTES,
    pids: { monitor, storage, gateway: gateway.pid },
    killGateway: () => gateway.kill(),
    async startGateway() {
      gateway = await startGateway(cluster, endpoint);
    },
    applyLifecycles: () => cluster.run('radosgw-admin', 'lc', 'process', '--rgw-lc-debug-interval', '1'),
  };
}

/** A test of an upload in parts sends a tenth of what the minimum of Amazon S3 requires. */
const MIN_PART_BYTES = 2 ** 20;

/** The milliseconds until a closed disk notices. As a setting of the daemon, it would wake the idle daemon as often. */
const QUICK_CLOSE = ['--bdev-aio-poll-ms', '10'];

async function startMonitor(cluster: StoreProcesses, clusterId: string, port: number): Promise<Daemon> {
  const map = join(cluster.folder, 'monmap');
  await cluster.run('monmaptool', '--create', '--fsid', clusterId, '--addv', 'a', `[v1:127.0.0.1:${port}]`, map);
  await cluster.run('ceph-mon', '--id', 'a', '--mkfs', '--monmap', map);
  const monitor = cluster.startDaemon('ceph-mon', '-f', '--id', 'a');
  // A client that calls too early retries only after three seconds.
  await cluster.until('the monitor accepts connections', () => acceptsConnections(port));
  return monitor;
}

async function startGateway(cluster: StoreProcesses, endpoint: string): Promise<Daemon> {
  // Without `tcp_nodelay`, every small response waits 40 ms for a delayed acknowledgement.
  const frontend = `beast endpoint=${new URL(endpoint).host} tcp_nodelay=1`;
  const gateway = cluster.startDaemon('radosgw', '-f', '--name', 'client.rgw', '--rgw-frontends', frontend);
  await cluster.until('the gateway responds', () => responses(endpoint));
  return gateway;
}

async function createUser(
  cluster: StoreProcesses,
  { accessKeyId, secretAccessKey }: Pick<ObjectStore, 'accessKeyId' | 'secretAccessKey'>,
): Promise<void> {
  const user = ['--uid', 'tests', '--display-name', 'tests', '--max-buckets', '0'];
  const key = ['--access-key', accessKeyId, '--secret-key', secretAccessKey];
  await cluster.run('radosgw-admin', 'user', 'create', ...user, ...key);
}

/** Returns a configuration that keeps all files in the folder instead of /etc, /var and /run. */
function configuration(
  folder: string,
  {
    clusterId,
    monitorPort,
    objects,
  }: { readonly clusterId: string; readonly monitorPort: number; readonly objects: ObjectsPlace },
): string {
  return `
[global]
fsid = ${clusterId}
mon host = v1:127.0.0.1:${monitorPort}
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind msgr2 = false
auth cluster required = none
auth service required = none
auth client required = none

run dir = ${folder}
crash dir = ${folder}
mon data = ${folder}/monitor
osd data = ${folder}/disk
rgw data = ${folder}/gateway
# A socket path can have at most 107 bytes, which a temporary folder may exceed. The tests don't use this socket.
admin socket =
# Errors go to standard error, where the tests read them.
log file =
mon cluster log to file = false

# Ceph collects debug messages in memory, which takes CPU time.
debug ms = 0/0
debug mon = 0/0
debug osd = 0/0
debug rgw = 0/0
debug bluestore = 0/0
debug bdev = 0/0
debug rocksdb = 0/0
debug objecter = 0/0

# One replica of each object is enough.
mon allow pool size one = true
osd pool default size = 1
osd pool default min size = 1
osd crush chooseleaf type = 0
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off

osd objectstore = ${objects === 'in memory' ? 'memstore' : 'bluestore'}
memstore device bytes = ${4 * 2 ** 30}
# A sparse file. Deleted objects keep their space for two hours.
bluestore block create = true
bluestore block size = ${64 * 2 ** 30}
# The minimum that Ceph allows.
osd memory target = ${896 * 2 ** 20}
# The free space of the machine's disk does not matter.
mon data avail warn = 1
mon data avail crit = 0

# These waits suit clusters of many machines. They add 16 s to a start.
# Time in which changes of the cluster map are gathered:
paxos propose interval = 0.01
paxos min wait = 0.01

# The daemons take less CPU time without these records and checksums.
osd enable op tracker = false
mon enable op tracker = false
throttler perf counter = false
bluestore csum type = none
ms crc data = false
ms crc header = false

# One disk needs one thread. The rest would take CPU time at the start.
ms async op threads = 1
osd op num shards = 1
osd op num threads per shard = 1

[client.rgw]
rgw multipart min part size = ${MIN_PART_BYTES}
# Time until a request that came before the disk is sent again. Each tick wakes the gateway and the disk.
objecter tick interval = 0.5
rgw thread pool size = 64
# With more shards, each listing reads all of them.
rgw override bucket index max shards = 1
`;
}

async function responses(endpoint: string): Promise<boolean> {
  try {
    const response = await fetch(endpoint, { signal: AbortSignal.timeout(1000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
