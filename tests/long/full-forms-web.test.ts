// The browser tests that have a short form in `npm test`: more views, names, places and journeys.

import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['browser', 'chromium'];

process.env['FULL_FORMS'] = '1';

await import('../web/dragging.test.ts');
await import('../web/folder.test.ts');
await import('../web/journeys.test.ts');
await import('../web/pdf.test.ts');
await import('../web/sign-in.test.ts');
await import('../web/sign-in-permissions.test.ts');
await import('../web/uploads.test.ts');
