import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assertDeclared } from '../../tests/runner/declared.ts';
import { cleanUpAtExit } from '../exit-cleanup.ts';
import { type OwnedProcess, start } from '../processes.ts';
import { until } from '../until.ts';
import { acceptsConnections } from './accepts-connections.ts';
import { findFreePort } from './free-port.ts';

/** A Redis on this machine, without persistence. */
export interface TestRedis {
  readonly port: number;
  readonly url: string;
  /** Stops Redis, which loses all data. It also stops when this process ends, for any reason. */
  stop(): Promise<void>;
}

/** Starts Redis on a free port of 127.0.0.1, or on the given one, such as that of an earlier Redis. */
export async function startRedis({ port: given }: { port?: number } = {}): Promise<TestRedis> {
  assertDeclared('redis');
  const folder = await mkdtemp(join(tmpdir(), 'holdall-redis-'));
  const forget = cleanUpAtExit({ kind: 'folder', name: folder });
  const port = given ?? (await findFreePort());
  const server = start({ file: 'redis-server', args: [...SETTINGS, '--port', String(port), '--dir', folder] });
  const stop = async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
    forget();
  };
  try {
    await untilReady(server, port);
    return { port, url: `redis://127.0.0.1:${port}/0`, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const SETTINGS = ['--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', '--daemonize', 'no'];

async function untilReady(server: OwnedProcess, port: number): Promise<void> {
  let ending: string | undefined;
  const watch = async () => {
    ending = (await server.ended).description;
  };
  void watch();
  await until('Redis accepts connections', () => {
    if (ending !== undefined) throw new Error(`redis-server ended: ${ending}\n${server.lastOutput()}`);
    return acceptsConnections(port);
  });
}
