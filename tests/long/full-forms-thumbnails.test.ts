// Thumbnails of all formats: all images that are broken or too large, and all orientations.

import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = [];

process.env['FULL_FORMS'] = '1';

await import('../thumbnails/formats.test.ts');
await import('../thumbnails/limits.test.ts');
await import('../thumbnails/svg.test.ts');
