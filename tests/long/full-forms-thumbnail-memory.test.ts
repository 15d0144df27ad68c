// The memory of all images that are large when decoded, in a process of its own, because it is measured.

import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = [];

process.env['FULL_FORMS'] = '1';

await import('../thumbnails/memory.test.ts');
