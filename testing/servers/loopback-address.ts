import { randomInt } from 'node:crypto';

/**
 * Returns a random address of the loopback network (127.0.0.0/8, all of which Linux accepts), so that no other server
 * uses it. A server can be restarted there on the same port: outgoing connections take ephemeral ports of 127.0.0.1.
 */
export function unusedLoopbackAddress(): string {
  return `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`;
}
