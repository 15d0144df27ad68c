// Attacks and faults: all spellings of paths and names at each route, more rounds of races and more clients.

import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['open-files'];

process.env['FULL_FORMS'] = '1';

await import('../attacks/credentials.test.ts');
await import('../attacks/oversized.test.ts');
await import('../attacks/prefix-without-separator.test.ts');
await import('../attacks/rebinding.test.ts');
await import('../attacks/symlink-swap.test.ts');
await import('../attacks/traversal.test.ts');
await import('../faults/links-swapped.test.ts');
await import('../faults/slow-clients.test.ts');
