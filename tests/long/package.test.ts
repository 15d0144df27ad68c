import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { atEnd } from '../../testing/holdall.ts';
import { PACKAGE, type Provenance, provenanceOf, ROOT } from '../package/provenance.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['package'];

const run = promisify(execFile);

it('The package is the same when it is built again in another folder', async (t) => {
  // On the same disk, so that installed packages cost no copies.
  const elsewhere = await mkdtemp(join(ROOT, '.build-'));
  atEnd(t, () => rm(elsewhere, { recursive: true, force: true }));
  for (const path of await sources()) await cp(join(ROOT, path), join(elsewhere, path), { recursive: true });
  await rm(join(elsewhere, 'web/dist'), { recursive: true, force: true });
  await run('cp', ['--recursive', '--link', join(ROOT, 'node_modules'), elsewhere]);
  for (const script of ['build-page', 'build-service', 'build-package'])
    await run(process.execPath, [join(elsewhere, `scripts/${script}.js`)], { cwd: '/' });
  const again = await provenanceOf(join(elsewhere, 'package'));
  const provenance = await provenanceOf(PACKAGE);
  const checksums = ({ files }: Provenance) => files.map(({ path, sha256 }) => `${sha256} ${path}`).join('\n');
  assert.equal(checksums(again), checksums(provenance));
  assert.deepEqual(again.bundled, provenance.bundled);
});

/** Returns the paths that a build reads: those that `.dockerignore` doesn't exclude. */
async function sources(): Promise<string[]> {
  const lines = (await readFile(join(ROOT, '.dockerignore'), 'utf8')).split('\n');
  assert.ok(lines.includes('*'));
  return lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
}
