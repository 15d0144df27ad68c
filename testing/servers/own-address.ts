import { randomInt } from 'node:crypto';

/**
 * An address of this machine's loopback network (127.0.0.0/8, of which Linux has all) that nobody else is on. A server
 * there can be started again on the port that it had: the system gives that away to no connection meanwhile, since those
 * come from 127.0.0.1.
 */
export function ownAddress(): string {
  return `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`;
}
