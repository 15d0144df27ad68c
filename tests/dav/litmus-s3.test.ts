import { describe, it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { settingsOf } from '../../testing/servers/settings.ts';
import type { Need } from '../runner/needs.ts';
import { startDav } from './dav-service.ts';
import { runLitmus } from './litmus.ts';

export const needs: readonly Need[] = ['bucket', 'litmus'];

describe('litmus', () => {
  it('passes on a bucket, below BASE_PATH', async (t) => {
    const bucket = await createBucket();
    atEnd(t, () => bucket.remove());
    await runLitmus(t, await startDav(t, { basePath: '/our/files', settings: settingsOf(bucket) }));
  });
});
