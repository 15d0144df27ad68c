import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** A port of 127.0.0.1 that nobody has: the kernel chose it a moment ago. */
export async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  await once(probe, 'close');
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}
