import type { FastifyRequest } from 'fastify';
import { isLoopback } from '../../domain/loopback.ts';

/** Whether the request comes from a program on this machine, and was not passed on for somebody elsewhere. */
export function isOfThisMachine(request: FastifyRequest): boolean {
  const { remoteAddress } = request.socket;
  // Of a connection that is gone already there is no address, nor an `ip`.
  return remoteAddress !== undefined && isLoopback(remoteAddress) && isLoopback(request.ip) && !isPassedOn(request);
}

/** Whether a proxy says that it passes the request on which is not in TRUST_PROXY: of others, `ip` is right already. */
function isPassedOn({ headers, ips }: FastifyRequest): boolean {
  return ips === undefined && PASSED_ON.some((name) => headers[name] !== undefined);
}

const PASSED_ON = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'via'] as const;
