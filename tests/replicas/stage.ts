import { atEnd, type Owner } from '../../testing/holdall.ts';
import { type Nginx, startDocumentedNginx } from '../../testing/servers/documented-nginx.ts';
import { unusedLoopbackAddress } from '../../testing/servers/loopback-address.ts';
import type { Service } from './clients.ts';
import { createReplica, PORT, type Replica } from './replicas.ts';

/** Several replicas on one store, behind nginx. */
export interface Stage extends Service {
  readonly replicas: readonly Replica[];
  readonly nginx: Nginx;
  /** Waits until interrupted operations have left nothing behind. Rejects if something remains. */
  untilClean(): Promise<void>;
}

/** Starts one replica with each of these settings, and nginx before them. All of it ends with its owner. */
export async function startReplicas(
  owner: Owner,
  settings: readonly Readonly<Record<string, string>>[],
): Promise<Pick<Stage, 'port' | 'replicas' | 'nginx'>> {
  const hosts = settings.map(() => unusedLoopbackAddress());
  const nginx = await startDocumentedNginx(hosts.map((host) => `${host}:${PORT}`));
  atEnd(owner, () => nginx.stop());
  const shared = {
    PUBLIC_URL: `http://127.0.0.1:${nginx.port}`,
    TRUST_PROXY: 'loopback',
    ACCESS: 'open',
    // All clients have one address here.
    RATE_LIMIT: '0',
    // Other tests on a busy machine must not count as an overload of the replicas.
    MAX_EVENT_LOOP_DELAY: '0',
  };
  const replicas = settings.map((own, index) => createReplica(owner, hosts[index] ?? '', { ...shared, ...own }));
  await Promise.all(replicas.map((replica) => replica.start()));
  return { port: nginx.port, replicas, nginx };
}
