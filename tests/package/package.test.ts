import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { version } from '../../src/version.ts';
import { startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { jsonOf, send, upload } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { assertThumbnail, plain, RED } from '../thumbnails/images.ts';
import { PACKAGE, type Provenance, provenanceOf, ROOT } from './provenance.ts';

export const needs: readonly Need[] = ['package'];

const run = promisify(execFile);

/** The Node.js that runs the tests first, whatever the machine has. */
const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}` };

describe('The package', () => {
  let provenance: Provenance;
  before(async () => {
    provenance = await provenanceOf(PACKAGE);
  });

  it('packs the files of its list, with their checksums, and no other', async () => {
    const { stdout } = await run('npm', ['pack', '--dry-run', '--json', PACKAGE], { env });
    const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
    const listed = provenance.files.map(({ path }) => path);
    assert.deepEqual(files.map(({ path }) => path).toSorted(), [...listed, 'provenance.json'].toSorted());
    for (const { path, sha256 } of provenance.files) {
      const bytes = await readFile(join(PACKAGE, path));
      assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256, path);
    }
  });

  it('says of every file and of every package in it where it comes from', async () => {
    const { packages } = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { integrity?: string }>;
    };
    const known = new Set(Object.values(packages).flatMap(({ integrity }) => integrity ?? []));
    for (const { path, from } of provenance.files) {
      if (from === path) assert.ok(path === 'package.json' || (await readFile(join(ROOT, path))));
      else assert.match(`${path} of ${from}`, /^(dist\/\S+ of src|web\/dist\/\S+ of web)$/);
    }
    const { src, web } = provenance.bundled;
    for (const { package: name, integrity } of [...src, ...web]) assert.ok(known.has(integrity), name);
    // One that the service uses, one of the page, and one of the page's worker.
    for (const name of ['fastify', 'preact', 'highlight.js'])
      assert.ok(
        [...src, ...web].some((each) => each.package.startsWith(`${name}@`)),
        name,
      );
    assert.match(String(provenance.source['package-lock.json']), /^[\da-f]{64}$/);
  });

  it('has nothing of its development in it, and nothing of the machine that built it', async () => {
    for (const { path } of provenance.files) {
      assert.doesNotMatch(path, /\.(map|tsx?|test\.\w+|log|env)$|node_modules|(^|\/)(src|tests|bench|scripts)\//);
      const bytes = await readFile(join(PACKAGE, path));
      assert.ok(!bytes.includes(ROOT), `${path} has ${ROOT}`);
      assert.ok(!bytes.includes('sourceMappingURL=data'), path);
    }
  });

  it('runs where it alone is installed, by npx', async (t) => {
    const app = await installed(t);
    const { stdout } = await run('npx', ['--no-install', 'holdall', '--version'], { cwd: app, env });
    assert.equal(stdout, `${version}\n`);

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
    for (const path of ['/-/docs/', '/-/docs/static/swagger-ui.css', '/-/openapi.json'])
      assert.equal((await send(port, path)).status, 200, path);

    holdall.signal('SIGTERM');
    assert.deepEqual(await holdall.ended, { code: 0, signal: null });
  });
});

/** Packs the package, installs it into an empty folder, and gives that; what it needs comes from npm's cache where it is there. */
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
