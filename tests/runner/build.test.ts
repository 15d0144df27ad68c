import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readCommit } from '../../scripts/commit.js';
import { temporaryFolder } from '../../testing/holdall.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Creates a checkout with the real scripts/build.js, and build scripts that write one file and log that they ran. */
async function createCheckout(t: TestContext) {
  const root = await temporaryFolder(t);
  const write = async (path: string, content: string) => {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), content);
  };
  for (const path of ['scripts/build.js', 'scripts/commit.js', 'bin/require-node.js', 'bin/code-cache.js']) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await cp(join(ROOT, path), join(root, path));
  }
  for (const [name, output] of Object.entries({ page: 'web/dist', service: 'dist', package: 'package' })) {
    await write(
      `scripts/build-${name}.js`,
      `import fs from 'node:fs';
      fs.mkdirSync('${output}', { recursive: true });
      fs.writeFileSync('${output}/built.js', 'built');
      fs.appendFileSync('log', '${name} ');`,
    );
  }
  await write(
    'bin/fill-code-cache.js',
    `import fs from 'node:fs';
    import { CODE_CACHE } from './code-cache.js';
    fs.mkdirSync(CODE_CACHE, { recursive: true });
    fs.appendFileSync('filled', '1');`,
  );
  await write('package.json', '{ "type": "module" }');
  await write('src/main.ts', 'one');
  await write('web/src/main.tsx', 'one');
  await write('log', '');
  /** Runs the builds and returns the names of those that were not skipped. */
  const build = async (...names: string[]) => {
    await writeFile(join(root, 'log'), '');
    const { status, stderr } = spawnSync(process.execPath, ['scripts/build.js', ...names], {
      cwd: root,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    return (await readFile(join(root, 'log'), 'utf8')).trim();
  };
  return { root, write, build };
}

describe('A build', () => {
  it('is skipped until its sources change, except the package, or its output was removed, edited or added to', async (t) => {
    const { root, build, write } = await createCheckout(t);
    const filled = () => readFile(join(root, 'filled'), 'utf8').catch(() => '');
    assert.equal(await build('service'), 'service');
    assert.equal(await filled(), '');
    assert.equal(await build(), 'page package');
    assert.equal(await build(), 'package');
    assert.equal(await filled(), '1', 'The compiled code is stored once the page is built as well.');
    await write('src/main.ts', 'two');
    assert.equal(await build('page', 'service'), 'service');
    assert.equal(await filled(), '11', 'The compiled code of each new service is stored.');
    await write('web/src/main.tsx', 'two');
    await write('web/src/new.ts', 'new');
    assert.equal(await build('page', 'service'), 'page');
    await write('package-lock.json', '{}');
    assert.equal(await build('page', 'service'), 'page service');
    assert.equal(await build('page', 'service'), '');
    await rm(join(root, 'dist'), { recursive: true });
    assert.equal(await build('page', 'service'), 'service');
    await write('web/dist/built.js', 'edited');
    assert.equal(await build('page', 'service'), 'page');
    await write('dist/.vite/added.json', '');
    assert.equal(await build('page', 'service'), 'service');
  });

  it('starts with its compiled code', () => {
    const env = { NODE_DEBUG_NATIVE: 'COMPILE_CACHE' };
    const { stderr } = spawnSync(process.execPath, [join(ROOT, 'bin/holdall.js'), '--version'], {
      env,
      encoding: 'utf8',
    });
    assert.match(stderr, /cache for .*\/dist\/main\.js was accepted/);
  });

  it('has the commit of its sources, which repeats no build', async (t) => {
    const { root, build, write } = await createCheckout(t);
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...args], {
        cwd: root,
        encoding: 'utf8',
      });
    const commitOf = async () => JSON.parse(await readFile(join(root, 'dist/commit.json'), 'utf8')).commit;
    // Inside of another repository, as a source archive that was extracted there.
    git('init', '-q');
    git('commit', '-q', '--allow-empty', '-m', 'one');
    const archive = join(root, 'archive');
    for (const path of ['scripts', 'bin', 'package.json'])
      await cp(join(root, path), join(archive, path), { recursive: true });
    await mkdir(join(archive, 'dist'));
    assert.deepEqual(readCommit(archive), { commit: process.env['SOURCE_COMMIT'] || null });

    await write('.gitignore', 'archive\ndist\nlog\nnode_modules\npackage\nweb/dist\n');
    for (const message of ['two', 'three']) {
      git('add', '.');
      git('commit', '-q', '--allow-empty', '-m', message);
      assert.equal(await build('service'), message === 'two' ? 'service' : '');
      assert.equal(await commitOf(), git('rev-parse', 'HEAD').trim());
    }
    await write('data/of-a-user.txt', '');
    await write('src/new.ts', '');
    assert.equal(await build('service'), 'service');
    assert.equal(await commitOf(), `${git('rev-parse', 'HEAD').trim()}-dirty`);
    await rm(join(root, 'src/new.ts'));
    await build('service');
    assert.equal(await commitOf(), git('rev-parse', 'HEAD').trim());
  });

  it('is repeated after it failed, which ends the command with an error', async (t) => {
    const { root, build, write } = await createCheckout(t);
    const script = await readFile(join(root, 'scripts/build-service.js'), 'utf8');
    await write('scripts/build-service.js', `${script} process.exitCode = 1;`);
    const { status, stderr } = spawnSync(process.execPath, ['scripts/build.js'], { cwd: root, encoding: 'utf8' });
    assert.deepEqual([status, stderr], [1, 'The service could not be built.\n']);
    assert.equal(await build('page'), '');
    await write('scripts/build-service.js', script);
    assert.equal(await build('page', 'service'), 'service');
  });
});
