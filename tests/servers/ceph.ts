import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepUntilEnd } from '../../bench/harness/last-resort.ts';
import { type OwnedProcess, run, start as startProcess } from '../../bench/harness/processes.ts';
import { until } from '../process/until.ts';
import { findFreePort } from './free-port.ts';
import { type ObjectStore, USUAL_REGION } from './object-store.ts';

/** A Ceph cluster of our own on this machine: one monitor, one disk, one S3 gateway. */
export interface Ceph extends ObjectStore {
  readonly pids: { readonly monitor: number; readonly storage: number; readonly gateway: number };
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
 * Starts a cluster that is empty and nobody else's, in a new folder below `parent` and on free ports of 127.0.0.1,
 * which takes about two seconds. Rejects with what its daemons said when it does not come up, and with the reason of
 * the signal when that aborts; nothing is left of it then.
 */
export async function startCeph(
  signal: AbortSignal = new AbortController().signal,
  parent: string = tmpdir(),
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
    const ceph = await bringUp(cluster);
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

async function bringUp(cluster: Cluster): Promise<Omit<Ceph, 'stop'>> {
  const [clusterId, diskId] = [randomUUID(), randomUUID()];
  const monitorPort = await findFreePort();
  await mkdir(join(cluster.folder, 'disk'));
  await writeFile(cluster.configurationFile, configuration(cluster.folder, clusterId, monitorPort));
  // The slowest step, and the only one that needs no monitor: it goes on while that is brought up.
  const formatting = cluster.start('ceph-osd', '--id', '0', '--mkfs', '--osd-uuid', diskId);
  const monitor = await startMonitor(cluster, clusterId, monitorPort);
  const { code, description } = await formatting.ended;
  if (code !== 0) throw new Error(`ceph-osd could not format its disk: ${description}`);
  const storage = cluster.startDaemon('ceph-osd', '--id', '0');
  const { gateway, endpoint } = await startGateway(cluster);
  const key = { accessKeyId: randomBytes(10).toString('hex'), secretAccessKey: randomBytes(20).toString('hex') };
  await createUser(cluster, key);
  return { endpoint, region: USUAL_REGION, ...key, pids: { monitor, storage, gateway } };
}

async function startMonitor(cluster: Cluster, clusterId: string, port: number): Promise<number> {
  const map = join(cluster.folder, 'monmap');
  await cluster.run('monmaptool', '--create', '--fsid', clusterId, '--addv', 'a', `[v1:127.0.0.1:${port}]`, map);
  await cluster.run('ceph-mon', '--id', 'a', '--mkfs', '--monmap', map);
  const pid = cluster.startDaemon('ceph-mon', '--id', 'a');
  // A client that calls too early tries again after three seconds only.
  await cluster.until('the monitor takes connections', () => takesConnections(port));
  return pid;
}

async function startGateway(cluster: Cluster): Promise<{ gateway: number; endpoint: string }> {
  const port = await findFreePort();
  const endpoint = `http://127.0.0.1:${port}`;
  // Without `tcp_nodelay` every small answer waits for an acknowledgement, which the other side delays by 40 ms.
  const frontend = `beast endpoint=127.0.0.1:${port} tcp_nodelay=1`;
  const gateway = cluster.startDaemon('radosgw', '--name', 'client.rgw', '--rgw-frontends', frontend);
  await cluster.until('the gateway answers', () => answers(endpoint));
  return { gateway, endpoint };
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

/** The processes of one cluster. */
interface Cluster {
  readonly folder: string;
  readonly configurationFile: string;
  /** Aborts when a daemon ends by itself, and everything that is waited for here with it. */
  readonly failed: AbortSignal;
  /** Runs a command to its end; rejects when that is not exit 0. */
  run(file: string, ...args: string[]): Promise<void>;
  /** Starts a command that `stop` ends at the latest. */
  start(file: string, ...args: string[]): OwnedProcess;
  /** Starts a daemon, which goes on until `stop`, and returns its process id. */
  startDaemon(file: string, ...args: string[]): number;
  until(what: string, condition: () => Promise<boolean>): Promise<void>;
  /** An error, and what the processes said last, each under its name. */
  describe(error: unknown): string;
  stop(): Promise<void>;
}

function ownCluster(folder: string, interrupted: AbortSignal): Cluster {
  const configurationFile = join(folder, 'ceph.conf');
  // Else they ask the monitor for settings first, know the cluster's id no more, and may call again before they do.
  const env = { CEPH_CONF: configurationFile, CEPH_ARGS: '--no-mon-config' };
  const started: { readonly file: string; readonly owned: OwnedProcess }[] = [];
  const failure = new AbortController();
  const signal = AbortSignal.any([interrupted, failure.signal]);
  let isStopping = false;
  const start = (file: string, ...args: string[]) => {
    const owned = startProcess({ file, args, env });
    started.push({ file, owned });
    return owned;
  };
  const failWith = async (file: string, { ended }: OwnedProcess) => {
    const { description } = await ended;
    if (!isStopping) failure.abort(new Error(`${file} ended by itself: ${description}`));
  };
  return {
    folder,
    configurationFile,
    failed: failure.signal,
    async run(file, ...args) {
      await run({ file, args, env }, signal);
    },
    start,
    startDaemon(file, ...args) {
      const daemon = start(file, '-f', ...args);
      void failWith(file, daemon);
      return daemon.pid;
    },
    async until(what, condition) {
      await until(what, () => {
        signal.throwIfAborted();
        return condition();
      });
    },
    describe(error) {
      const said = started.map(({ file, owned }) => ({ file, output: owned.lastOutput().replaceAll(/\n+/g, '\n') }));
      const spoken = said.filter(({ output }) => output !== '').map(({ file, output }) => `\n${file}:\n${output}\n`);
      return `${error instanceof Error ? error.message : String(error)}\n${spoken.join('')}`;
    },
    async stop() {
      isStopping = true;
      // What came last goes first: each tells those before it that it goes, and waits for their answer.
      for (const { owned } of started.toReversed()) await owned.stop();
    },
  };
}

async function takesConnections(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
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
