/*
 * The tests with random input, with new seeds: npm test tries the same inputs each time. 100 seconds for each property, unless
 * FUZZ_SECONDS is set. Only new inputs find new faults.
 */

import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['git'];

process.env['FUZZ_SECONDS'] ??= '100';

await import('../fuzz/forms.test.ts');
await import('../fuzz/http.test.ts');
await import('../fuzz/openapi.test.ts');
await import('../properties/model.test.ts');
await import('../properties/paths.test.ts');
await import('../properties/whole-forms.test.ts');
await import('../stores/github-linearizability.test.ts');
