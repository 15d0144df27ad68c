import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { it } from 'node:test';

it('docs/architecture.md names only files and folders that exist', async () => {
  const page = await readFile('docs/architecture.md', 'utf8');
  const existing = await Array.fromAsync(glob(['{bench,scripts,src,tests,web/src}/**', 'web/*.ts']));
  const named = [...page.matchAll(/`([\w./-]+(?:\.(?:ts|tsx|js|md)|\/))`/g)].map(([, path = '']) => path);
  assert.ok(named.length > 50, `It names ${named.length}.`);
  // A path can start in any folder: the page names `write.ts` where the folder is clear.
  const exists = (path: string) =>
    existing.some((file) => `/${file}${path.endsWith('/') ? '/' : ''}`.endsWith(`/${path}`));
  assert.deepEqual(
    named.filter((path) => !exists(path)),
    [],
  );
});
