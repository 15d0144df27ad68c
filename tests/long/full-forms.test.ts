// The tests that have a short form in `npm test`: all spellings of paths at each route, more rounds of races and more
// clients.

import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['open-files'];

process.env['FULL_FORMS'] = '1';

await import('../attacks/credentials.test.ts');
await import('../attacks/symlink-swap.test.ts');
await import('../attacks/traversal.test.ts');
await import('../faults/links-swapped.test.ts');
await import('../faults/slow-clients.test.ts');
