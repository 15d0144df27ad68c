import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepUntilEnd } from '../../bench/harness/last-resort.ts';
import { type Cluster, type Daemon, ownCluster } from './ceph-cluster.ts';
import { findFreePort } from './free-port.ts';
import { type ObjectStore, USUAL_REGION } from './object-store.ts';
import { takesConnections } from './takes-connections.ts';

/** A Ceph cluster of our own on this machine: one monitor, one disk, one S3 gateway. */
export interface Ceph extends ObjectStore {
  /** Those of the start. */
  readonly pids: { readonly monitor: number; readonly storage: number; readonly gateway: number };
  /** Kills the S3 gateway (SIGKILL), and settles when it is gone; what is stored stays. */
  killGateway(): Promise<void>;
  /** Starts the gateway that was killed, at the same address, and waits until it answers. */
  startGateway(): Promise<void>;
  /** Applies the lifecycle rules of all buckets now, with seconds for days. */
  applyLifecycles(): Promise<void>;
  /** Ends it, and all that was stored is gone. It ends with this process too, however that ends. */
  stop(): Promise<void>;
}

/** The Debian package of each command that is called: here, and `ceph` by the benchmarks, for its version. */
export const CEPH_COMMANDS = {
  'ceph-mon': 'ceph-mon',
  'ceph-osd': 'ceph-osd',
  ceph: 'ceph-common',
  monmaptool: 'ceph-base',
  radosgw: 'radosgw',
  'radosgw-admin': 'ceph-common',
} as const;

/**
 * Starts a cluster that is empty and nobody else's, in a new folder below `parent` and on free ports of 127.0.0.1, its
 * gateway on one of `address`, which takes about two seconds. Rejects with what its daemons said when it does not come
 * up, and with the reason of the signal when that aborts; nothing is left of it then.
 */
export async function startCeph(
  signal: AbortSignal = new AbortController().signal,
  parent: string = tmpdir(),
  address = '127.0.0.1',
): Promise<Ceph> {
  const folder = await mkdtemp(join(parent, 'holdall-ceph-'));
  const forget = keepUntilEnd({ kind: 'folder', name: folder });
  const cluster = ownCluster(folder, signal);
  const stop = async () => {
    await cluster.stop();
    await rm(folder, { recursive: true, force: true });
    forget();
  };
  try {
    const ceph = await bringUp(cluster, address);
    // Else tests would only say that nothing answers.
    cluster.failed.addEventListener('abort', () => process.stderr.write(cluster.describe(cluster.failed.reason)));
    return { ...ceph, stop };
  } catch (error) {
    const description = cluster.describe(error);
    await stop();
    signal.throwIfAborted();
    throw new Error(`Ceph does not start: ${description}`, { cause: error });
  }
}

async function bringUp(cluster: Cluster, address: string): Promise<Omit<Ceph, 'stop'>> {
  const [clusterId, diskId] = [randomUUID(), randomUUID()];
  const monitorPort = await findFreePort();
  await mkdir(join(cluster.folder, 'disk'));
  await writeFile(cluster.configurationFile, configuration(cluster.folder, clusterId, monitorPort));
  // The slowest step, and the only one that needs no monitor: it goes on while that is brought up.
  const formatting = cluster.start('ceph-osd', '--id', '0', '--mkfs', '--osd-uuid', diskId);
  const { pid: monitor } = await startMonitor(cluster, clusterId, monitorPort);
  const { code, description } = await formatting.ended;
  if (code !== 0) throw new Error(`ceph-osd could not format its disk: ${description}`);
  const { pid: storage } = cluster.startDaemon('ceph-osd', '--id', '0');
  const endpoint = `http://${address}:${await findFreePort()}`;
  let gateway = await startGateway(cluster, endpoint);
  const key = { accessKeyId: randomBytes(10).toString('hex'), secretAccessKey: randomBytes(20).toString('hex') };
  await createUser(cluster, key);
  return {
    endpoint,
    region: USUAL_REGION,
    ...key,
    pids: { monitor, storage, gateway: gateway.pid },
    killGateway: () => gateway.kill(),
    async startGateway() {
      gateway = await startGateway(cluster, endpoint);
    },
    applyLifecycles: () => cluster.run('radosgw-admin', 'lc', 'process', '--rgw-lc-debug-interval', '1'),
  };
}

async function startMonitor(cluster: Cluster, clusterId: string, port: number): Promise<Daemon> {
  const map = join(cluster.folder, 'monmap');
  await cluster.run('monmaptool', '--create', '--fsid', clusterId, '--addv', 'a', `[v1:127.0.0.1:${port}]`, map);
  await cluster.run('ceph-mon', '--id', 'a', '--mkfs', '--monmap', map);
  const monitor = cluster.startDaemon('ceph-mon', '--id', 'a');
  // A client that calls too early tries again after three seconds only.
  await cluster.until('the monitor takes connections', () => takesConnections(port));
  return monitor;
}

async function startGateway(cluster: Cluster, endpoint: string): Promise<Daemon> {
  // Without `tcp_nodelay` every small answer waits for an acknowledgement, which the other side delays by 40 ms.
  const frontend = `beast endpoint=${new URL(endpoint).host} tcp_nodelay=1`;
  const gateway = cluster.startDaemon('radosgw', '--name', 'client.rgw', '--rgw-frontends', frontend);
  await cluster.until('the gateway answers', () => answers(endpoint));
  return gateway;
}

async function createUser(
  cluster: Cluster,
  { accessKeyId, secretAccessKey }: Pick<ObjectStore, 'accessKeyId' | 'secretAccessKey'>,
): Promise<void> {
  const user = ['--uid', 'tests', '--display-name', 'tests', '--max-buckets', '0'];
  const key = ['--access-key', accessKeyId, '--secret-key', secretAccessKey];
  await cluster.run('radosgw-admin', 'user', 'create', ...user, ...key);
}

/** Everything that Ceph would keep below /etc, /var or /run is in the folder. */
function configuration(folder: string, clusterId: string, monitorPort: number): string {
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
# The path of a socket may have 107 bytes, which a temporary folder may exceed; nobody asks at this one.
admin socket =
# What goes wrong is said on standard error, and read there.
log file =
mon cluster log to file = false

# One copy of everything is enough, and wanted.
mon allow pool size one = true
osd pool default size = 1
osd pool default min size = 1
osd crush chooseleaf type = 0
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off

# Grows with what is stored: deleted objects keep their space for two hours.
bluestore block create = true
bluestore block size = ${64 * 2 ** 30}
# The least that is allowed.
osd memory target = ${896 * 2 ** 20}
# How full the machine's own disk is does not matter.
mon data avail warn = 1
mon data avail crit = 0

# Each of these waits, made for clusters of many machines, comes many times in a start: 16 s of it, all in all.
# Between changes of the cluster's map, gathered into one;
paxos propose interval = 0.01
paxos min wait = 0.01
# until a disk that is closed notices it;
bdev aio poll ms = 10

[client.rgw]
# until a request that came before the disk is sent again.
objecter tick interval = 0.1
`;
}

async function answers(endpoint: string): Promise<boolean> {
  try {
    const response = await fetch(endpoint, { signal: AbortSignal.timeout(1000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
