import { it } from 'node:test';
import type { Need } from '../runner/needs.ts';
import { startDav } from './dav-service.ts';
import { runLitmus } from './litmus.ts';

export const needs: readonly Need[] = ['litmus'];

// On a branch and on a bucket: tests/long/litmus.test.ts.
it('litmus passes on a disk', async (t) => {
  await runLitmus(t, await startDav(t));
});
