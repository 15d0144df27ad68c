// The tests of stores that have a short form in `npm test`: all responses of a store that have one meaning, all
// documented costs, and more rounds of random operations.

import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['apache2', 'bucket', 'git', 'haproxy', 'nginx'];

process.env['FULL_FORMS'] = '1';
await import('../contract/github.test.ts');
await import('../contract/s3.test.ts');
await import('../doctor/disk.test.ts');
await import('../doctor/proxy.test.ts');
await import('../doctor/s3.test.ts');
await import('../faults/github-processes.test.ts');
await import('../faults/s3-killed.test.ts');
await import('../faults/s3-trash-killed.test.ts');
await import('../stores/github-batch-isolation.test.ts');
await import('../stores/github-commits.test.ts');
await import('../stores/github-cost.test.ts');
await import('../stores/github-error-responses.test.ts');
await import('../stores/github-folder-changes.test.ts');
await import('../stores/github-hostile-host.test.ts');
await import('../stores/github-lfs.test.ts');
await import('../stores/github-linearizability.test.ts');
await import('../stores/github-lost-responses.test.ts');
await import('../stores/github-quota.test.ts');
await import('../stores/github-snapshots.test.ts');
await import('../stores/s3-conditions.test.ts');
await import('../stores/s3-copies.test.ts');
await import('../stores/s3-copy-sources.test.ts');
await import('../stores/s3-cost.test.ts');
await import('../stores/s3-errors.test.ts');
await import('../stores/s3-invalid-responses.test.ts');
await import('../stores/s3-moves.test.ts');
await import('../stores/s3-removals.test.ts');
await import('../stores/s3-uploads-failing.test.ts');
await import('../stores/s3-uploads.test.ts');
await import('../undo/github.test.ts');
await import('../undo/s3.test.ts');
