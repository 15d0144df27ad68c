import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import type { RepositoryOptions } from '../../testing/servers/github.ts';
import { type HostedRepository, hostRepository } from '../../testing/servers/hosted-repository.ts';
import { settingsOfRepository } from '../../testing/servers/settings.ts';
import { startInProcess } from '../../testing/service.ts';
import type { Need } from '../runner/needs.ts';
import { diagnose } from './diagnosis.ts';

export const needs: readonly Need[] = ['git'];

async function host(t: TestContext, options: RepositoryOptions = {}): Promise<HostedRepository> {
  const hosted = await hostRepository({ files: { 'a.txt': 'a' }, ...options });
  t.after(() => hosted.remove());
  return hosted;
}

const filesOf = async ({ repository }: HostedRepository) =>
  (await repository.git('ls-tree', '-r', '--name-only', repository.branch)).split('\n');

describe('holdall doctor on a branch', { concurrency: CONCURRENT_TESTS }, () => {
  it('reports no problem with a service that reads the branch with a delay, and keeps its files', async (t) => {
    const hosted = await host(t);
    const settings = { ...settingsOfRepository(hosted), GITHUB_TRUST: '1' };
    const { port } = await startInProcess(t, { settings });
    const { code, of, with: having } = await diagnose(settings, '--url', `http://127.0.0.1:${port}`);
    assert.deepEqual([code, having('failed'), having('warning')], [0, [], []]);
    assert.match(of('repository-quota').found, /^\d+ of 5000 requests are left until /);
    assert.deepEqual(await filesOf(hosted), ['a.txt']);
  });

  it('reports the permission that a read-only token lacks', async (t) => {
    const hosted = await host(t);
    hosted.host.permissions.write = false;
    const { code, of, printed } = await diagnose(settingsOfRepository(hosted));
    assert.equal(code, 1);
    assert.equal(
      of('store-open').advice,
      'Give the token in GITHUB_TOKEN the permission "Contents: read and write", or set READ_ONLY=true.',
    );
    assert.ok(!printed.includes(hosted.host.token));
  });

  it('gives advice on a protected branch, Git LFS and a nearly exhausted rate limit', async (t) => {
    const hosted = await host(t, { files: { '.gitattributes': '*.psd filter=lfs diff=lfs merge=lfs -text\n' } });
    hosted.repository.protect(hosted.repository.branch);
    hosted.host.quota.remaining = 450;
    const { code, of, with: having } = await diagnose({ ...settingsOfRepository(hosted), WORKERS: '4' });
    assert.equal(code, 1);
    assert.deepEqual(having('failed'), ['store-write']);
    assert.equal(
      of('store-write').advice,
      'Let the owner of the token bypass the rules of GITHUB_BRANCH, or set GITHUB_BRANCH to a branch without such rules.',
    );
    assert.equal(
      of('repository-quota').advice,
      'Wait until then, use a token that no other program uses, or raise GITHUB_TRUST and GITHUB_CACHE_SIZE.',
    );
    assert.equal(
      of('repository-lfs').advice,
      'Push large files with git lfs, or remove the lines with filter=lfs from .gitattributes: docs/reference/stores-github.md, "Git LFS".',
    );
    assert.equal(of('repository-workers').advice, 'Set WORKERS=1, or divide GITHUB_WRITES_PER_MINUTE by WORKERS.');
    assert.deepEqual(await filesOf(hosted), ['.gitattributes']);
  });

  it('checks the folder in GITHUB_PATH, and finds Git LFS above it', async (t) => {
    const files = { '.gitattributes': '*.psd filter=lfs diff=lfs merge=lfs -text\n', 'team/a.txt': 'a' };
    const hosted = await host(t, { files });
    const settings = { ...settingsOfRepository(hosted), GITHUB_PATH: 'team/files' };
    const { code, of, with: having } = await diagnose(settings);
    assert.deepEqual([code, having('failed'), having('warning')], [0, [], ['repository-lfs']]);
    assert.match(of('store-open').found, /, branch main, folder team\/files\/$/);
    // The probe was the only content of the folder, which continues to exist.
    assert.deepEqual(await filesOf(hosted), ['.gitattributes', 'team/a.txt', 'team/files/.gitkeep']);
    await hosted.repository.commit({ '.gitattributes': null });
    const without = await diagnose(settings);
    assert.equal(without.of('repository-lfs').found, 'No .gitattributes file in team/files/ or above it uses Git LFS.');
    const link = await diagnose({ ...settings, GITHUB_PATH: 'team/a.txt' });
    assert.match(link.of('store-open').found, /GITHUB_PATH "team\/a.txt" is not a folder on the branch main\./);
  });
});
