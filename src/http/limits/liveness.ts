import type { FastifyRequest } from 'fastify';

/** The route by which a supervisor asks whether the process answers: one that does not is killed. */
export const LIVENESS = '/-/health/live';

/** Whether a request is for that. It is answered whatever the load: to be killed for being busy helps nobody. */
export function isLivenessCheck({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === LIVENESS;
}
