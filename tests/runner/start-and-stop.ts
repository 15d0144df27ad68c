import { startHoldall } from '../../testing/holdall.ts';

/*
 * Starts the built service and stops it gracefully, so that it writes its compiled code to the cache that
 * NODE_COMPILE_CACHE names.
 */

const ends: (() => Promise<void>)[] = [];
try {
  const service = await startHoldall({ after: (end) => void ends.push(end) });
  service.signal('SIGTERM');
  await service.ended;
} finally {
  for (const end of ends) await end();
}
