import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['git'];

// The tests with random input, with new seeds: five minutes for each property, unless FUZZ_SECONDS is set.

process.env['FUZZ_SECONDS'] ??= '300';

await import('../fuzz/forms.test.ts');
await import('../fuzz/http.test.ts');
await import('../fuzz/openapi.test.ts');
await import('../properties/model.test.ts');
await import('../properties/paths.test.ts');
await import('../properties/whole-forms.test.ts');
await import('../stores/github-linearizability.test.ts');
