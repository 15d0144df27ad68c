// The tests of processes and of faults on a disk that have a short form in `npm test`: with one worker and with several, all
// endpoints at all links, and more rounds.

import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['git', 'package', 'setpriv'];

process.env['FULL_FORMS'] = '1';

await import('../bench/compare.test.ts');
await import('../deploy/container.test.ts');
await import('../faults/at-once.test.ts');
await import('../faults/kill.test.ts');
await import('../faults/links.test.ts');
await import('../faults/transfers-at-once.test.ts');
await import('../faults/trash-killed.test.ts');
await import('../process/audit-log.test.ts');
await import('../process/jobs.test.ts');
await import('../process/start.test.ts');
await import('../process/stop.test.ts');
await import('../process/tracing.test.ts');
