/*
 * Builds the package twice, and installs it with npm: only this proves that a build is reproducible, and that the published
 * dependencies suffice. It needs the network or npm's cache, and a minute.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { atEnd, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { jsonOf, send, upload } from '../http/client.ts';
import { PACKAGE, type Provenance, provenanceOf, ROOT } from '../package/provenance.ts';
import type { Need } from '../runner/needs.ts';
import { assertThumbnail, plain, RED } from '../thumbnails/images.ts';

export const needs: readonly Need[] = ['package'];

const run = promisify(execFile);

/** The Node.js of the tests takes precedence over that of the machine. */
const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}` };

it('The package is identical when it is built again in another folder', async (t) => {
  // On the same disk, so that installed packages cost no copies.
  const elsewhere = await mkdtemp(join(ROOT, '.build-'));
  atEnd(t, () => rm(elsewhere, { recursive: true, force: true }));
  for (const path of await sources()) await cp(join(ROOT, path), join(elsewhere, path), { recursive: true });
  await rm(join(elsewhere, 'web/dist'), { recursive: true, force: true });
  await run('cp', ['--recursive', '--link', join(ROOT, 'node_modules'), elsewhere]);
  const build = (name: string) => run(process.execPath, [join(elsewhere, `scripts/build-${name}.js`)], { cwd: '/' });
  await build('page');
  await build('service');
  // The commit comes from the repository, which the copy isn't.
  await cp(join(ROOT, 'dist/commit.json'), join(elsewhere, 'dist/commit.json'));
  await build('package');
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

it('The package runs with npx in a folder where only the package is installed', async (t) => {
  const app = await installed(t);
  const { stdout } = await run('npx', ['--no-install', 'holdall', '--version'], { cwd: app, env });
  assert.match(stdout, /^\d+\.\d+\.\d+ \([\da-f]{40}(?:-dirty)?\)\n$/);

  const holdall = await startHoldall(t, { script: join(app, 'node_modules/.bin/holdall') });
  const { port } = holdall;
  await upload(port, 'pictures/red.png', await plain(RED).png().toBuffer());
  const listing = jsonOf(await send(port, '/pictures/'));
  assert.deepEqual(
    (listing['entries'] as { path: string }[]).map(({ path }) => path),
    ['pictures/red.png'],
  );
  await assertThumbnail((await send(port, '/thumb/pictures/red.png')).body, [160, 160, RED]);
  const page = await send(port, '/pictures/', { headers: { accept: 'text/html' } });
  const [, script = ''] = /<script[^>]+src="([^"]+)"/.exec(page.body.toString()) ?? [];
  assert.equal((await send(port, new URL(script, 'http://x/pictures/').pathname)).status, 200, script);
  for (const path of ['/-/docs/', '/-/docs/api-reference.js', '/-/openapi.json'])
    assert.equal((await send(port, path)).status, 200, path);

  holdall.signal('SIGTERM');
  assert.deepEqual(await holdall.ended, { code: 0, signal: null });
});

/**
 * Packs the package and installs it into an empty folder. Returns that folder. Dependencies come from npm's cache if
 * they are there.
 */
async function installed(t: TestContext): Promise<string> {
  const folder = await temporaryFolder(t);
  const app = join(folder, 'app');
  await mkdir(app);
  const { stdout } = await run('npm', ['pack', '--silent', PACKAGE], { cwd: folder, env });
  const tarball = join(folder, stdout.trim());
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', tarball], { cwd: app, env });

  const manifests = (await readdir(app, { recursive: true })).filter((path) =>
    /(^|\/)node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path),
  );
  assert.ok(manifests.length > 3 && manifests.length < 60, `${manifests.length} packages`);
  for (const path of manifests) {
    const { scripts = {} } = JSON.parse(await readFile(join(app, path), 'utf8')) as { scripts?: object };
    for (const name of ['preinstall', 'install', 'postinstall']) assert.ok(!(name in scripts), `${path}: ${name}`);
  }
  return app;
}
