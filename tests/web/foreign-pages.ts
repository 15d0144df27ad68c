import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { BrowserContext, Page } from 'playwright-core';
import sharp from 'sharp';
import { atEnd, type LogLine, temporaryFolder } from '../../testing/holdall.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { findFreePort } from '../../testing/servers/free-port.ts';
import { type ServiceInProcess, startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { snapshot } from '../faults/trees.ts';
import { postJson } from '../http/client.ts';
import { embedAll, fetchAll, openAndRead, submitAll } from './assaults.ts';
import { sharedBrowser } from './browser.ts';
import { testFile } from './file-owner.ts';

export const SECRET = 'what no page of another site may see';
const PASSWORD = 'correct horse';

/** The host names of the service and of the hostile page, and how the browser authenticates. */
export interface Scene {
  readonly name: string;
  readonly service: string;
  readonly hostile: string;
  readonly as: 'anonymous' | 'session' | 'Basic';
}

/**
 * Host names that only the browser resolves to this machine, as all of `.test`. Unlike `localhost`, they are not trustworthy without HTTPS:
 * the browser sends no Fetch Metadata headers to them.
 */
const NAMES = ['evil.test', 'files.test', 'evil.files.test'];

let attackers: Awaited<ReturnType<typeof startAttackers>>;
before(async () => {
  attackers = await startAttackers();
});
after(async () => {
  await attackers.stop();
});

/** Tests that a page of another origin reads and changes nothing, in each scene. */
export function testForeignPages(scenes: readonly Scene[]): void {
  describe('A page of another origin', () => {
    for (const scene of scenes) {
      it(`reads and changes nothing, and can link to the service: ${scene.name}`, async (t) => {
        const { url, root, log, context } = await begin(t, scene);
        const planted = await contents(root);
        const hostile = await context.newPage();
        await hostile.goto(`http://${scene.hostile}:${attackers.port}/`);

        const read = [
          ...(await hostile.evaluate(fetchAll, url)),
          ...(await hostile.evaluate(embedAll, url)),
          ...(await hostile.evaluate(openAndRead, url)),
        ];
        assert.deepEqual(read, []);
        // Its script would write to `stolen` of its opener.
        await hostile.evaluate((service) => window.open(`${service}file/secret.html`), url);
        for (const target of ['frame', '_blank'] as const) {
          const heard = postsIn(log());
          // One after the other, because a page opens one window at a time without a click of the user.
          await hostile.evaluate(`(${submitAll.toString()})(${JSON.stringify(url)}, ${JSON.stringify(target)})`);
          await until('the forms have arrived', () => postsIn(log()) > heard + (target === 'frame' ? 5 : 0));
        }
        for (const frame of context.pages().flatMap((page) => page.frames())) {
          if (frame.url().startsWith(url)) continue;
          assert.ok(!(await frame.content().catch(() => '')).includes(SECRET), frame.url());
        }
        assert.equal(await hostile.evaluate(() => Reflect.get(window, 'stolen')), undefined);
        assert.deepEqual(await contents(root), planted);
        assertRefused(log());

        await hostile.goto(`http://${scene.hostile}:${attackers.port}/?to=${encodeURIComponent(url)}`);
        await hostile.getByRole('link').click();
        await hostile.getByText('victim.txt').first().waitFor();
        assert.equal(hostile.url(), url);
        // The page of the service can change the same files.
        assert.deepEqual(await changeAsOwn(hostile), [200, 200, 200]);
      });
    }
  });
}

/** Opens a browser with all permissions in a service. Scenes share a service unless its settings differ. */
export async function begin(t: TestContext, { service: host, as }: Pick<Scene, 'service' | 'as'>) {
  const isPublic = NAMES.includes(host);
  const key = JSON.stringify([as !== 'anonymous', isPublic && host]);
  const service = await (services.get(key) ?? startService(as !== 'anonymous', isPublic ? host : undefined));
  services.set(key, Promise.resolve(service));
  const { root, port, log } = service;
  await plant(root);
  const firstLine = log.length;
  const url = `http://${host}:${port}/`;
  const context = await (await sharedBrowser()).newContext();
  atEnd(t, () => context.close());
  if (as === 'session') await signIn(context, url, port);
  // As if the user had typed the credentials into the browser's own dialog, after which it sends them by itself.
  const basic = `Basic ${Buffer.from(`ann:${PASSWORD}`).toString('base64')}`;
  if (as === 'Basic') await context.setExtraHTTPHeaders({ authorization: basic });
  return { root, url, port, context, log: () => log.slice(firstLine) };
}

const services = new Map<string, Promise<ServiceInProcess>>();

/** Starts a service, with the public URL of a host name if it has one. */
async function startService(isControlled: boolean, publicHost: string | undefined): Promise<ServiceInProcess> {
  const root = join(await temporaryFolder(testFile), 'root');
  await mkdir(root);
  const port = await findFreePort();
  const accessFile = join(await temporaryFolder(testFile), 'access.json');
  if (isControlled) await writeFile(accessFile, JSON.stringify(await annAlone()));
  const settings = {
    PORT: String(port),
    ...(isControlled && { ACCESS_FILE: accessFile }),
    ...(publicHost !== undefined && { PUBLIC_URL: `http://${publicHost}:${port}/` }),
  };
  return startInProcess(testFile, { root, settings });
}

/** Replaces all files of the service. */
async function plant(root: string): Promise<void> {
  for (const name of await storedNames(root)) await rm(join(root, name), { recursive: true });
  await mkdir(join(root, 'folder'), { recursive: true });
  const image = await sharp({ create: { width: 9, height: 9, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  const files = {
    'secret.txt': SECRET,
    'victim.txt': SECRET,
    'folder/victim.txt': SECRET,
    'secret.js': `window.secretOfAScript = ${JSON.stringify(SECRET)};`,
    'secret.css': `body { --secret: ${JSON.stringify(SECRET)}; }`,
    'secret.html': `<p>${SECRET}</p><script>window.opener.stolen = parent.stolen = ${JSON.stringify(SECRET)};</script>`,
    'image.png': image,
  };
  for (const [name, value] of Object.entries(files)) await writeFile(join(root, name), value);
}

async function annAlone() {
  const rights = ['read', 'write', 'manage'];
  return {
    people: { ann: { password: hashForTest(PASSWORD) } },
    grants: [{ folder: '/', to: { person: 'ann' }, rights }],
  };
}

/** Sets a session cookie in the browser, as signing in there does. */
async function signIn(context: BrowserContext, url: string, port: number): Promise<void> {
  const { headers } = await postJson(
    port,
    '/-/session',
    { name: 'ann', password: PASSWORD },
    { host: new URL(url).host },
  );
  const [, name = '', value = ''] = /^([^=]+)=([^;]+)/.exec(headers['set-cookie']?.[0] ?? '') ?? [];
  await context.addCookies([
    { name, value, domain: new URL(url).hostname, path: '/', httpOnly: true, sameSite: 'Lax' },
  ]);
}

/** Returns all that the service has stored, as it is on the disk. */
export async function contents(root: string): Promise<Record<string, unknown>> {
  const names = await storedNames(root);
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await snapshot(join(root, name))] as const)),
  );
}

const storedNames = async (root: string) => (await readdir(root)).filter((name) => name !== '.holdall').toSorted();

const postsIn = (log: readonly LogLine[]) =>
  log.filter((line) => line.msg === 'request' && line['method'] === 'POST').length;

/** Fails unless the attacks reached their routes, and each change was refused. */
function assertRefused(log: readonly LogLine[]): void {
  const changing = log.filter(
    ({ msg, method, path }) =>
      msg === 'request' && !['GET', 'OPTIONS', 'HEAD'].includes(String(method)) && path !== '/-/session',
  );
  const routes = new Set(changing.map(({ route }) => route));
  for (const route of ['/copy', '/create_folder', '/delete/*', '/delete_folder/*', '/upload', '/-/session/end']) {
    assert.ok(routes.has(route), `${route} was attacked.`);
  }
  for (const { method, path, status } of changing) {
    // Without a session, which other sites can't send, signing out does nothing.
    if (path !== '/-/session/end')
      assert.ok([400, 401, 403, 415].includes(Number(status)), `${String(method)} ${String(path)}: ${String(status)}`);
  }
}

/** Changes files as the page of the service does. */
function changeAsOwn(page: Page): Promise<number[]> {
  return page.evaluate(async () => {
    const headers = { 'content-type': 'application/json' };
    const form = new FormData();
    form.set('file', new File(['own'], 'own.txt'));
    const responses = [
      await fetch('create_folder', { method: 'POST', headers, body: JSON.stringify({ path: 'own' }) }),
      await fetch('upload', { method: 'POST', body: form }),
      await fetch('delete/victim.txt', { method: 'DELETE' }),
    ];
    return responses.map(({ status }) => status);
  });
}

/** Starts a server of hostile pages, which contain the link `to`. */
async function startAttackers() {
  const server = createServer((request, response) => {
    const to = new URL(request.url ?? '/', 'http://hostile').searchParams.get('to') ?? '';
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<!doctype html><title>hostile</title><body><a href="${to}">a link</a>`);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
