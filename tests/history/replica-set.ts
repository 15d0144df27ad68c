import type { TestContext } from 'node:test';
import { atEnd, type Holdall, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { hostRepository } from '../../testing/servers/hosted-repository.ts';
import { startS3Proxy } from '../../testing/servers/s3-proxy.ts';
import { settingsOf, settingsOfRepository } from '../../testing/servers/settings.ts';
import type { StoreKind } from './history.ts';
import { readBranch } from './read-branch.ts';
import { readBucket } from './read-bucket.ts';
import { readDisk } from './read-disk.ts';
import type { ReplicaSet, StoredContents } from './run.ts';

const REPLICAS = [0, 1];

/** Opens an empty store of this kind and starts two services on it. The end of the test stops them. */
export async function startReplicas(t: TestContext, store: StoreKind): Promise<ReplicaSet> {
  const { settings: ofStore, cut, kept } = await STORES[store](t);
  // Both services have one database, as replicas do.
  const settings = { STATE_DIR: await temporaryFolder(t), ...ofStore };
  const running = new Map<number, Holdall>();
  const ports = new Map<number, number>();
  const restart = async () => {
    const missing = REPLICAS.filter((replica) => !running.has(replica));
    await Promise.all(
      missing.map(async (replica) => {
        const started = await startHoldall(t, { settings });
        running.set(replica, started);
        ports.set(replica, started.port);
      }),
    );
  };
  await restart();
  return {
    ports,
    restart,
    async kill(replica) {
      const holdall = running.get(replica);
      running.delete(replica);
      ports.delete(replica);
      await holdall?.kill();
    },
    cut,
    kept,
  };
}

interface Opened {
  readonly settings: Readonly<Record<string, string>>;
  readonly cut: ReplicaSet['cut'];
  readonly kept: StoredContents;
}

const STORES: Readonly<Record<StoreKind, (t: TestContext) => Promise<Opened>>> = {
  async disk(t) {
    const root = await temporaryFolder(t);
    return { settings: { DISK_ROOT: root }, cut() {}, kept: readDisk(root) };
  },

  bucket: (t) => openBucket(t, false),
  'versioned-bucket': (t) => openBucket(t, true),

  async github(t) {
    const hosted = await hostRepository({ files: { '.gitkeep': '' } });
    atEnd(t, () => hosted.remove());
    // Each read requests the newest state, so that no response is outdated.
    const settings = { ...settingsOfRepository(hosted), GITHUB_TRUST: '0' };
    const kept = readBranch(hosted.repository);
    return { settings, kept, cut: (requests, onCut) => hosted.host.intercept(cutting(requests, onCut)) };
  },
};

async function openBucket(t: TestContext, isVersioned: boolean): Promise<Opened> {
  const bucket = await createBucket(undefined, { isVersioned });
  const proxy = await startS3Proxy(bucket.settings as { endpoint: string });
  atEnd(t, async () => {
    await bucket.remove();
    await proxy.stop();
  });
  const settings = settingsOf({ settings: { ...bucket.settings, endpoint: proxy.url } });
  const kept = readBucket(bucket, isVersioned);
  return { settings, kept, cut: (requests, onCut) => proxy.intercept(cutting(requests, onCut)) };
}

/** Cuts the connections of the next requests that can change something, and of no others. */
function cutting(requests: readonly ('cut' | 'cut when done')[], onCut: () => void) {
  const left = [...requests];
  return ({ method }: { method: string }) => {
    const verdict = method === 'GET' || method === 'HEAD' ? undefined : left.shift();
    if (verdict) onCut();
    return verdict;
  };
}
