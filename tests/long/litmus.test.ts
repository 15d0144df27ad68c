// Only it runs litmus on a branch and on a bucket, below BASE_PATH: 208 tests, each with several requests to a remote store.
import { describe, it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { hostRepository } from '../../testing/servers/hosted-repository.ts';
import { settingsOf, settingsOfRepository } from '../../testing/servers/settings.ts';
import { startDav } from '../dav/dav-service.ts';
import { runLitmus } from '../dav/litmus.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket', 'git', 'litmus'];

describe('litmus, below BASE_PATH', () => {
  it('passes on a branch', async (t) => {
    const hosted = await hostRepository({ files: { '.gitkeep': '' } });
    atEnd(t, () => hosted.remove());
    await runLitmus(t, await startDav(t, { basePath: '/our/files', settings: settingsOfRepository(hosted) }));
  });

  it('passes on a bucket', async (t) => {
    const bucket = await createBucket();
    atEnd(t, () => bucket.remove());
    await runLitmus(t, await startDav(t, { basePath: '/our/files', settings: settingsOf(bucket) }));
  });
});
