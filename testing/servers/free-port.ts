import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * Ports below those that Linux assigns to connections and to `listen(0)` (`net.ipv4.ip_local_port_range` starts at
 * 32768). A port from that range could be taken by any program before its user listens on it.
 */
const FIRST_PORT = 20_000;
const END_PORT = 32_000;

const MAX_ATTEMPTS = 20;

/** Returns a port of this machine without a listener. */
export async function findFreePort(): Promise<number> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const port = randomInt(FIRST_PORT, END_PORT);
    if (await isFree(port)) return port;
  }
  throw new Error(`${MAX_ATTEMPTS} ports between ${FIRST_PORT} and ${END_PORT} are in use.`);
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch {
    return false;
  }
  probe.close();
  await once(probe, 'close');
  return true;
}
