import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import sharp from 'sharp';
import { hashPassword } from '../../src/access/passwords.ts';
import { atEnd, type Holdall, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { launchChromium } from '../../testing/servers/chromium.ts';
import { findFreePort } from '../../testing/servers/free-port.ts';
import { photograph } from '../faults/trees.ts';
import { postJson, until } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { embedAll, fetchAll, openAndRead, submitAll } from './assaults.ts';

export const needs: readonly Need[] = ['browser'];

const SECRET = 'what no page of another site may see';
const PASSWORD = 'correct horse';

/** Where the service is, where the hostile page is, and by what the browser proves who it is. */
interface Scene {
  readonly name: string;
  readonly service: string;
  readonly hostile: string;
  readonly as: 'nobody' | 'session' | 'Basic';
}

/** Names of this machine for the browser alone; to a browser, their addresses are not as secure as its own names are. */
const NAMES = ['evil.test', 'files.test', 'evil.files.test'];

const SCENES: readonly Scene[] = [
  { name: 'local, another port', service: '127.0.0.1', hostile: '127.0.0.1', as: 'nobody' },
  { name: 'local, a site of the internet', service: 'localhost', hostile: 'evil.test', as: 'nobody' },
  { name: 'signed in, another port', service: '127.0.0.1', hostile: '127.0.0.1', as: 'session' },
  { name: 'signed in, another site', service: '127.0.0.1', hostile: 'localhost', as: 'session' },
  {
    name: 'signed in, a sibling of a site without HTTPS',
    service: 'files.test',
    hostile: 'evil.files.test',
    as: 'session',
  },
  { name: 'with Basic, another site', service: '127.0.0.1', hostile: 'localhost', as: 'Basic' },
];

let browser: Browser;
let attackers: Awaited<ReturnType<typeof startAttackers>>;
before(async () => {
  [browser, attackers] = await Promise.all([launchChromium({ names: NAMES }), startAttackers()]);
});
after(async () => {
  await browser.close();
  await attackers.stop();
});

describe('a page of another origin', () => {
  for (const scene of SCENES) {
    it(`changes nothing and reads nothing, and may have a link to it: ${scene.name}`, async (t) => {
      const { url, root, holdall, context } = await begin(t, scene);
      const planted = await contents(root);
      const hostile = await context.newPage();
      await hostile.goto(`http://${scene.hostile}:${attackers.port}/`);

      const read = [
        ...(await hostile.evaluate(fetchAll, url)),
        ...(await hostile.evaluate(embedAll, url)),
        ...(await hostile.evaluate(openAndRead, url)),
      ];
      assert.deepEqual(read, []);
      await hostile.evaluate((service) => window.open(`${service}file/secret.html`), url);
      for (const target of ['frame', '_blank'] as const) {
        const heard = countOf(holdall, 'POST');
        // In turn, as a browser opens one window at a time for a page that nobody has clicked on.
        await hostile.evaluate(`(${submitAll.toString()})(${JSON.stringify(url)}, ${JSON.stringify(target)})`);
        await until('the forms have arrived', () => countOf(holdall, 'POST') > heard + (target === 'frame' ? 5 : 0));
      }
      for (const frame of context.pages().flatMap((page) => page.frames())) {
        if (frame.url().startsWith(url)) continue;
        assert.ok(!(await frame.content().catch(() => '')).includes(SECRET), frame.url());
      }
      assert.deepEqual(await contents(root), planted);
      assertRefused(holdall);

      await hostile.goto(`http://${scene.hostile}:${attackers.port}/?to=${encodeURIComponent(url)}`);
      await hostile.getByRole('link').click();
      await hostile.getByText('victim.txt').first().waitFor();
      assert.equal(hostile.url(), url);
      // From there, all of it works: it is the service that was attacked, as it is.
      assert.deepEqual(await changeAsOwn(hostile), [200, 200, 200]);
    });
  }
});

it('a page whose name was made to point to this machine is of no origin of the service’s', async (t) => {
  const { holdall, root, context } = await begin(t, { service: '127.0.0.1', as: 'nobody' });
  const planted = await contents(root);
  const page = await context.newPage();
  const response = await page.goto(`http://evil.test:${holdall.port}/`);
  assert.equal(response?.status(), 403);
  // Whatever is there, its origin is the one that the name has after it was made to point here.
  const read = await page.evaluate(fetchAll, `http://evil.test:${holdall.port}/`);
  assert.ok(read.length > 20);
  for (const text of read) assert.match(text, /: 403 /);
  assert.ok(!read.join().includes(SECRET));
  assert.deepEqual(await contents(root), planted);
});

/** Starts a service, and a browser that may do everything there. */
async function begin(t: TestContext, { service, as }: Pick<Scene, 'service' | 'as'>) {
  const root = join(await temporaryFolder(t), 'root');
  await plant(root);
  const port = await findFreePort();
  const url = `http://${service}:${port}/`;
  const accessFile = join(await temporaryFolder(t), 'access.json');
  if (as !== 'nobody') await writeFile(accessFile, JSON.stringify(await annAlone()));
  const holdall = await startHoldall(t, {
    root,
    settings: {
      PORT: String(port),
      SHUTDOWN_TIMEOUT: '2',
      ...(as !== 'nobody' && { ACCESS_FILE: accessFile, ...(NAMES.includes(service) && { PUBLIC_URL: url }) }),
    },
  });
  const context = await browser.newContext();
  atEnd(t, () => context.close());
  if (as === 'session') await signIn(context, url, holdall);
  // As if the person had typed them into the window of the browser, which then sends them by itself.
  const basic = `Basic ${Buffer.from(`ann:${PASSWORD}`).toString('base64')}`;
  if (as === 'Basic') await context.setExtraHTTPHeaders({ authorization: basic });
  return { root, url, holdall, context };
}

async function plant(root: string): Promise<void> {
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

let annsHash: Promise<string> | undefined;

async function annAlone() {
  annsHash ??= hashPassword(PASSWORD);
  const rights = ['read', 'write', 'manage'];
  return { people: { ann: { password: await annsHash } }, grants: [{ folder: '/', to: { person: 'ann' }, rights }] };
}

/** Puts the cookie of a session into the browser, as signing in there does. */
async function signIn(context: BrowserContext, url: string, { port }: Holdall): Promise<void> {
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

/** Everything that the service has stored, as it is on the disk. */
async function contents(root: string): Promise<Record<string, unknown>> {
  const names = (await readdir(root)).filter((name) => name !== '.holdall').toSorted();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await photograph(join(root, name))] as const)),
  );
}

const requests = ({ log }: Holdall) => log.filter(({ msg }) => msg === 'request');
const countOf = (holdall: Holdall, method: string) =>
  requests(holdall).filter((line) => line['method'] === method).length;

/** The attacks reached the routes that they were meant for, and no change and no content came of any. */
function assertRefused(holdall: Holdall): void {
  const changing = requests(holdall).filter(
    ({ method, path }) => method !== 'GET' && method !== 'OPTIONS' && method !== 'HEAD' && path !== '/-/session',
  );
  const routes = new Set(changing.map(({ route }) => route));
  for (const route of ['/copy', '/create_folder', '/delete/*', '/delete_folder/*', '/upload', '/-/session/end']) {
    assert.ok(routes.has(route), `${route} was attacked.`);
  }
  for (const { method, path, status } of changing) {
    // Without a session, which other sites can't send, signing out is nothing.
    if (path !== '/-/session/end')
      assert.ok([400, 401, 403, 415].includes(Number(status)), `${String(method)} ${String(path)}: ${String(status)}`);
  }
}

/** What the page of the service does itself. */
function changeAsOwn(page: Page): Promise<number[]> {
  return page.evaluate(async () => {
    const headers = { 'content-type': 'application/json' };
    const form = new FormData();
    form.set('file', new File(['own'], 'own.txt'));
    const answers = [
      await fetch('create_folder', { method: 'POST', headers, body: JSON.stringify({ path: 'own' }) }),
      await fetch('upload', { method: 'POST', body: form }),
      await fetch('delete/victim.txt', { method: 'DELETE' }),
    ];
    return answers.map(({ status }) => status);
  });
}

/** A server of the pages of other sites, with a link where they are asked for one. */
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
