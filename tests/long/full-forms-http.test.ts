// The HTTP API: all names, formats, methods and sizes, on all stores, and all folder operations that are composed of
// single files.

import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket', 'git'];

process.env['FULL_FORMS'] = '1';

await import('../access/drop-box.test.ts');
await import('../fuzz/forms.test.ts');
await import('../http/bare.test.ts');
await import('../http/disk.test.ts');
await import('../http/github.test.ts');
await import('../http/memory.test.ts');
await import('../http/protocol/names.test.ts');
await import('../http/protocol/progress.test.ts');
await import('../http/protocol/requests.test.ts');
await import('../http/protocol/thumbnails.test.ts');
await import('../http/protocol/upload.test.ts');
await import('../http/s3.test.ts');
await import('../properties/paths.test.ts');
