import { describe, it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { hostRepository } from '../../testing/servers/hosted-repository.ts';
import { settingsOfRepository } from '../../testing/servers/settings.ts';
import type { Need } from '../runner/needs.ts';
import { startDav } from './dav-service.ts';
import { runLitmus } from './litmus.ts';

export const needs: readonly Need[] = ['git', 'litmus'];

describe('litmus', () => {
  it('passes on a disk', async (t) => {
    await runLitmus(t, await startDav(t));
  });

  it('passes on a branch, below BASE_PATH', async (t) => {
    const hosted = await hostRepository({ files: { '.gitkeep': '' } });
    atEnd(t, () => hosted.remove());
    await runLitmus(t, await startDav(t, { basePath: '/our/files', settings: settingsOfRepository(hosted) }));
  });
});
