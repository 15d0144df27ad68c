// The HTTP API on remote stores, with the suites that npm test runs on the memory store and on the disk alone.

import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket', 'git'];

process.env['FULL_FORMS'] = '1';

await import('../http/github.test.ts');
await import('../http/s3.test.ts');
