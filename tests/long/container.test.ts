/*
 * Installs the packages of the container image: only here are they those of the lockfile, and enough to serve files and thumbnails.
 * `npm ci` takes longer than all other tests of the deployment files.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../testing/holdall.ts';
import { all, contentOf, listOf, ROOT, serveAsContainer } from '../deploy/container-image.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['package', 'setpriv'];

it('The container image serves with the packages that it installs', async (t) => {
  const install = contentOf(all('RUN')[2]);
  assert.match(install, /^node scripts\/lock-package\.js && npm ci /);
  const folder = await temporaryFolder(t);
  for (const path of ['package', 'package-lock.json', 'scripts'])
    await cp(join(ROOT, path), join(folder, path), { recursive: true });
  await promisify(execFile)('sh', ['-c', `${install} --prefer-offline`], { cwd: folder });
  const wanted = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(
    await readFile(join(folder, 'package/node_modules/.package-lock.json'), 'utf8'),
  ).packages;
  assert.ok('node_modules/sharp' in installed);
  for (const [path, { version: found }] of Object.entries<{ version: string }>(installed))
    assert.equal(found, wanted[path].version, path);
  await mkdir(join(folder, 'package/empty'));
  await serveAsContainer(t, join(folder, 'package'), listOf(all('HEALTHCHECK').at(-1)));
});
