import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { type Holdall, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { form, json } from '../access/guarded-service.ts';
import { snapshot } from '../faults/trees.ts';
import { begin, type Call, type HttpResponse, jsonOf, send } from '../http/client.ts';
import { type AttackedService, SECRET, startAttackedService } from './attacked-service.ts';
import { representativesOf, textsOf } from './spellings.ts';

/*
 * The published advisories on shares of other file managers, as attacks: files next to a shared one, paths out of a shared
 * folder, passwords and expiry that only the page checked, shares that survive their owner, and uploads that replace files.
 */

/** A link of the client, and the requests of its visitor. */
interface Target {
  readonly token: string;
  readonly id: string;
  /** Sends a request without credentials. Fails if the response contains a secret, or is a fault of the service. */
  attack(path: string, call?: Call): Promise<HttpResponse>;
}

/** Shares `mine/folder/`, or another path. Next to it are secrets that the client may read, but visitors may not. */
async function share(service: AttackedService, settings: object = {}): Promise<Target> {
  const { status, body } = await service.attack('/-/links', json({ path: 'mine/folder/', ...settings }));
  assert.equal(status, 200, body.toString());
  const { token, link } = JSON.parse(body.toString()) as { token: string; link: { id: string } };
  return { token, id: link.id, attack: (path, call) => visit(service.port, token, path, call) };
}

/** Restores `mine/` to its first content, and adds secrets next to the shared folder. */
function restore(service: AttackedService): void {
  service.restore();
  const mine = join(service.root, 'mine');
  for (const folder of ['folder2', 'folder/mine/folder']) mkdirSync(join(mine, folder), { recursive: true });
  for (const name of ['above.txt', 'folder2/secret.txt', 'folder.txt', 'note.txt.bak']) {
    writeFileSync(join(mine, name), SECRET);
  }
}

async function visit(port: number, token: string, path: string, call: Call = {}): Promise<HttpResponse> {
  const response = await send(port, `/-/s/${token}${path}`, call);
  const { status, headers, body } = response;
  const description = `${call.method ?? 'GET'} ${path} ${call.body?.toString() ?? ''}: ${status} ${body.toString().slice(0, 300)}`;
  assert.ok(!body.includes(SECRET) && !JSON.stringify(headers).includes(SECRET), description);
  assert.ok(status < 500, description);
  return response;
}

const upload = (filename: string, fields: Readonly<Record<string, string>> = {}): Call =>
  form([
    ...Object.entries(fields).map(([name, value]) => ({ name, value })),
    { name: 'file', filename, value: 'of a visitor' },
  ]);

/** Everything around the shared folder. */
function snapshotAround({ base }: AttackedService): Promise<unknown> {
  const paths = ['other', 'secret.txt', 'root/other', 'root/mine/above.txt', 'root/mine/folder2', 'root/mine/note.txt'];
  return Promise.all(paths.map((path) => snapshot(join(base, path))));
}

const METRICS_TOKEN = 'm'.repeat(32);

describe('A share link', () => {
  let service: AttackedService;
  let auditLog = '';
  const endings: (() => Promise<void>)[] = [];
  before(async () => {
    const owner = { after: (end: () => Promise<void>) => void endings.push(end) };
    auditLog = join(await temporaryFolder(owner), 'audit.log');
    const settings = { LOG_LEVEL: 'debug', AUDIT_LOG: auditLog, METRICS_TOKEN };
    service = await startAttackedService(owner, { settings });
  });
  after(async () => {
    for (const end of endings.toReversed()) await end();
  });
  beforeEach(() => restore(service));

  it('keeps visitors in the shared folder, in every spelling of a path', async () => {
    const { attack } = await share(service, { permissions: ['read', 'write'] });
    assert.equal((await attack('/file/note.txt')).body.toString(), 'mine');
    const outside = await snapshotAround(service);
    for (const goal of ['../other/secret.txt']) {
      const spellings = [
        ...representativesOf(goal, service.base),
        `../${goal}`,
        `..%2f${goal}`,
        `mine/folder/../../../${goal}`,
      ];
      for (const path of spellings) {
        for (const route of [
          '/file/',
          '/thumb/',
          '/-/preview/',
          '/-/media/',
          '/',
          '/-/zip/',
          '/-/signed/',
          '/?prefix=',
          '/?name=',
        ]) {
          await attack(`${route}${path}`);
        }
      }
      for (const text of textsOf(spellings)) {
        await attack('/copy', json({ source: text, destination: 'copied', is_folder: false }));
        await attack('/copy', json({ source: 'note.txt', destination: text, is_folder: false, overwrite: true }));
        await attack('/create_folder', json({ path: text }));
        await attack('/-/zip', json({ paths: [text] }));
      }
    }
    for (const prefix of ['../', '..', '/..', 'mine/../..', '.holdall', '../.holdall/']) {
      for (const name of ['x', '../x', '../../x', '..\\x', '.holdall'])
        await attack('/upload', upload(name, { prefix }));
    }
    assert.deepEqual(await snapshotAround(service), outside);
  });

  it('shows no file next to a shared one, whatever its name begins with', async () => {
    const { attack } = await share(service, { path: 'mine/note.txt' });
    assert.equal((await attack('/file/note.txt')).body.toString(), 'mine');
    const { entries } = jsonOf(await attack('/')) as { entries: { path: string }[] };
    assert.deepEqual(
      entries.map(({ path }) => path),
      ['note.txt'],
    );
    const nextToIt = ['note.txt.bak', 'above.txt', 'folder.txt', 'folder', 'folder/', 'folder/note.txt', 'other/'];
    const others = [...nextToIt, 'mine/note.txt', 'note.txt/../above.txt'];
    for (const path of others) {
      for (const route of ['/file/', '/thumb/', '/-/preview/', '/-/media/', '/', '/-/zip/', '/?prefix=']) {
        const { status } = await attack(route + path);
        assert.ok(status >= 400, `${route}${path}: ${status}`);
      }
    }
    const named = jsonOf(await attack('/?name=above.txt&name=folder/&name=note.txt')) as {
      entries: { name: string }[];
    };
    assert.deepEqual(
      named.entries.map(({ name }) => name),
      ['note.txt'],
    );
  });

  it('follows no symbolic links out of a shared folder', async () => {
    const { attack } = await share(service, { permissions: ['read', 'write'] });
    const folder = join(service.root, 'mine/folder');
    symlinkSync('../above.txt', join(folder, 'link.txt'));
    symlinkSync('../folder2', join(folder, 'linked'));
    symlinkSync(join(service.base, 'secret.txt'), join(folder, 'far.txt'));
    for (const path of [
      '/file/link.txt',
      '/file/linked/secret.txt',
      '/file/far.txt',
      '/linked/',
      '/thumb/link.txt',
      '/-/preview/link.txt?width=320',
      '/-/media/link.txt',
    ]) {
      assert.ok((await attack(path)).status >= 400, path);
    }
    await attack('/-/zip/');
    await attack('/copy', json({ source: 'linked', destination: 'copied', is_folder: true }));
    await attack('/upload', upload('secret.txt', { prefix: 'linked' }));
    assert.equal(readFileSync(join(service.root, 'mine/folder2/secret.txt'), 'utf8'), SECRET);
  });

  it('changes nothing through a link for reading', async () => {
    const { attack } = await share(service);
    const contents = await snapshot(join(service.root, 'mine'));
    for (const [path, call] of [
      ['/upload', upload('new.txt')],
      ['/upload', upload('note.txt', { prefix: '' })],
      ['/create_folder', json({ path: 'new' })],
      ['/copy', json({ source: 'note.txt', destination: 'copy.txt', is_folder: false })],
      ['/move', json({ source: 'note.txt', destination: 'moved.txt', is_folder: false })],
      ['/rename/note.txt', json({ newName: 'renamed.txt' })],
      ['/rename_folder/mine', json({ newName: 'renamed' })],
      ['/delete/note.txt', { method: 'DELETE' }],
      ['/delete/note.txt', { method: 'POST' }],
      ['/delete_folder/mine?permanent=true', { method: 'DELETE' }],
      ['/file/note.txt', { method: 'DELETE' }],
      ['/file/note.txt', { method: 'PUT', body: 'x' }],
      ['/file/note.txt', { method: 'PATCH', body: 'x' }],
      ['/file/note.txt', { method: 'POST', headers: { 'x-http-method-override': 'DELETE' } }],
      ['/note.txt', { method: 'PROPPATCH' }],
      ['/-/undo', json({ change: 'x' })],
      ['/-/trash', { method: 'DELETE' }],
    ] as const) {
      const { status } = await attack(path, call);
      assert.ok(status >= 400, `${path}: ${status}`);
    }
    assert.deepEqual(await snapshot(join(service.root, 'mine')), contents);
  });

  it('replaces no file through a link for uploads, and reveals no file', async () => {
    const { attack } = await share(service, { permissions: ['write'] });
    const folder = join(service.root, 'mine/folder');
    const contents = await Promise.all(
      ['note.txt', 'image.png', 'large.bin'].map((name) => readFile(join(folder, name))),
    );
    const names = ['note.txt', 'NOTE.TXT', 'image.png', 'mine', 'large.bin', 'free.txt'];
    const responses = await Promise.all(names.map((name) => attack('/upload', upload(name))));
    for (const [index, response] of responses.entries()) {
      assert.deepEqual(jsonOf(response), { success: true, message: 'File uploaded successfully', path: names[index] });
      assert.equal(response.headers.etag, undefined);
    }
    const laterContents = await Promise.all(
      ['note.txt', 'image.png', 'large.bin'].map((name) => readFile(join(folder, name))),
    );
    assert.deepEqual(laterContents, contents);
    const [existing, missing] = [await attack('/-/zip/mine/'), await attack('/-/zip/none/')];
    assert.deepEqual([existing.status, existing.body.length], [missing.status, missing.body.length]);
    assert.ok(!(await attack('/-/zip/')).body.includes('note.txt'));
  });

  it('ignores headers that name another path, host or user', async () => {
    const { attack, token } = await share(service);
    const expected = (await attack('/')).body.toString();
    const otherHeaders: readonly Record<string, string>[] = [
      { 'x-original-url': '/file/mine/above.txt' },
      { 'x-rewrite-url': '/file/mine/above.txt' },
      { 'x-forwarded-prefix': '/mine' },
      { 'x-forwarded-path': '/file/mine/above.txt' },
      { 'x-forwarded-host': 'attacker.example', forwarded: 'host=attacker.example' },
      { 'x-forwarded-user': 'owner', 'remote-user': 'owner', 'x-remote-user': 'owner' },
    ];
    for (const headers of otherHeaders) {
      assert.equal((await attack('/', { headers })).body.toString(), expected, JSON.stringify(headers));
      assert.ok(!JSON.stringify((await attack('', { headers })).headers).includes('attacker.example'));
    }
    // The token is no credential anywhere else.
    const credentials: readonly Record<string, string>[] = [{ authorization: `Bearer ${token}` }, {}];
    for (const headers of credentials) {
      for (const path of ['/file/mine/folder/note.txt', `/file/mine/folder/note.txt?token=${token}`, '/mine/folder/']) {
        assert.equal((await send(service.port, path, { headers })).status, 401, path);
      }
    }
  });

  it('gives visitors nothing of the responses to users', async () => {
    const { attack } = await share(service);
    const { headers } = await service.attack('/file/mine/folder/note.txt');
    assert.match(String(headers['cache-control']), /private/);
    for (const path of ['/file/..%2fabove.txt', '/file/above.txt', '/file/mine/above.txt', '/thumb/mine/image.png']) {
      for (const condition of ['*', String(headers.etag)]) {
        const { status } = await attack(path, { headers: { 'if-none-match': condition } });
        assert.ok(status >= 400, `${path}: ${status}`);
      }
    }
    const page = await attack('/', { headers: { accept: 'text/html' } });
    assert.ok(!page.body.includes('client') && !page.body.includes('mine/folder'), page.body.toString());
  });

  it('keeps the links of a user from others, and lets users share only what they could do themselves', async () => {
    const { id, token } = await share(service);
    const own = await service.attack(`/-/links/${id}`);
    assert.equal(own.status, 200);
    assert.ok(!own.body.includes(token));
    for (const path of ['/-/links', '/-/links?below=', '/-/links?path=mine/folder/', `/-/links/${id}`]) {
      const { body } = await send(service.port, path);
      assert.ok(!body.includes('mine/folder') && !body.includes(token), `${path}: ${body.toString()}`);
    }
    const change = { method: 'PATCH', headers: { 'content-type': 'application/json' }, body: '{"password":null}' };
    for (const call of [change, { method: 'DELETE' }]) {
      assert.equal((await send(service.port, `/-/links/${id}`, call)).status, 404);
    }
    for (const body of [
      { path: 'other/' },
      { path: 'other/secret.txt' },
      { path: '/' },
      { path: '', permissions: ['write'] },
      { path: 'mine/../other/' },
      { path: 'mine/folder/', permissions: ['manage'] },
    ]) {
      const { status } = await service.attack('/-/links', json(body));
      assert.ok([400, 403, 404].includes(status), JSON.stringify(body));
    }
  });

  it('shares one item: no other one that takes its path is shared', async () => {
    const { attack } = await share(service, { path: 'mine/note.txt' });
    const move = { source: 'mine/note.txt', destination: 'mine/elsewhere.txt', is_folder: false };
    assert.equal((await service.attack('/move', json(move))).status, 200);
    const fileStatuses = async () => [
      (await attack('/file/note.txt')).status,
      (await attack('/file/elsewhere.txt')).status,
    ];
    assert.deepEqual(await fileStatuses(), [403, 200]);
    writeFileSync(join(service.root, 'mine/note.txt'), 'another file');
    assert.deepEqual(await fileStatuses(), [403, 200]);
    assert.equal((await service.attack('/delete/mine/elsewhere.txt', { method: 'DELETE' })).status, 200);
    writeFileSync(join(service.root, 'mine/elsewhere.txt'), 'another file');
    assert.deepEqual(await fileStatuses(), [404, 404]);
    const folder = await share(service);
    rmSync(join(service.root, 'mine/folder'), { recursive: true });
    for (const path of ['/', '/file/note.txt']) assert.equal((await folder.attack(path)).status, 404, path);
    mkdirSync(join(service.root, 'mine/folder'));
    writeFileSync(join(service.root, 'mine/folder/note.txt'), 'another file');
    for (const path of ['/', '/file/note.txt']) assert.equal((await folder.attack(path)).status, 404, path);
  });

  it('has tokens with 192 random bits, and keeps them out of all logs and metrics', async () => {
    const targets = [await share(service), await share(service, { password: 'correct horse' })];
    for (const { token, id, attack } of targets) {
      assert.match(token, /^[\w-]{32}$/);
      assert.notEqual(token, id);
      for (const path of ['', '/', '/file/note.txt', '/file/missing', '/-/nothing', '/%ff', '/upload']) {
        for (const method of ['GET', 'POST', 'HEAD', 'DELETE', 'PROPFIND']) {
          const { body } = await attack(path, { method });
          assert.ok(!body.includes(token), `${method} ${path}`);
        }
      }
      // Spellings that the service does not accept.
      for (const prefix of [
        '//-/s/',
        '/%2d/s/',
        '/-%2fs%2f',
        '/-/s//',
        '/file/-/s/',
        '/-/s%2F',
        '/%2D/%73/',
        '/-/s/x/../',
        '/-/s/./',
        '/-/s/x/%2e%2e/',
      ]) {
        assert.notEqual((await send(service.port, `${prefix}${token}/file/note.txt`)).status, 200, prefix);
      }
      const headers = { authorization: `Bearer ${METRICS_TOKEN}` };
      const metrics = await send(service.port, '/-/metrics', { headers });
      assert.equal(metrics.status, 200);
      assert.ok(!metrics.body.includes(token));
      await until('the requests are logged', () => service.service.printed().includes(`[${id}]/-/nothing`));
    }
    const audited = await readFile(auditLog, 'utf8');
    assert.ok(targets.every(({ id }) => audited.includes(id)));
    const printed = service.service.printed() + audited;
    for (const { token } of targets) {
      const leaks = printed.split('\n').filter((line) => line.includes(token));
      assert.deepEqual(leaks, []);
    }
  });
});

it('ends a link in all processes when it is revoked, expires, or its creator loses access', async (t) => {
  const service = await startAttackedService(t);
  restore(service);
  truncateSync(join(service.root, 'mine/folder/large.bin'), 96 * 1024 * 1024);
  const other = await startProcess(t, service);
  const revoked = await share(service);
  const expiring = await share(service);
  const orphaned = await share(service);
  const signedUrls = new Map<Target, string>();
  for (const link of [revoked, expiring, orphaned]) {
    const { status, headers } = await visit(other.port, link.token, '/file/large.bin');
    assert.equal(status, 302);
    signedUrls.set(link, String(headers.location).slice(2));
  }
  const isGone = async (link: Target) => {
    for (const { port } of [service, other]) {
      for (const path of ['/', '/file/note.txt', '/-/link', signedUrls.get(link) ?? '']) {
        const { status, body } = await send(port, `/-/s/${link.token}${path}`, { headers: { range: 'bytes=0-0' } });
        if (status !== 404 || !body.includes('link-not-found')) return false;
      }
    }
    return true;
  };

  // Not read, so that the response waits for its client.
  const response = await begin(other.port, `/-/s/${revoked.token}${signedUrls.get(revoked)}`).response;
  response.on('error', () => {});
  assert.equal(response.statusCode, 200);
  assert.equal((await service.attack(`/-/links/${revoked.id}`, { method: 'DELETE' })).status, 200);
  assert.ok(await isGone(revoked));
  await until('the response of the other process has ended', () =>
    other.log.some((line) => line['link'] === revoked.id && line['status'] === 499),
  );

  const expiry = { ...json({ expiresAt: new Date(Date.now() + 500).toISOString() }), method: 'PATCH' };
  const changed = await service.attack(`/-/links/${expiring.id}`, expiry);
  assert.equal(changed.status, 200, changed.body.toString());
  await until('the link has expired everywhere', () => isGone(expiring));

  const policy = JSON.parse(await readFile(service.accessFile, 'utf8')) as {
    people: Record<string, unknown>;
    grants: readonly object[];
  };
  await writeFile(service.accessFile, JSON.stringify({ ...policy, grants: policy.grants.slice(0, 1) }));
  await until('the link ended with the grant', () => isGone(orphaned));
  await writeFile(service.accessFile, JSON.stringify(policy));
  await until('the link works again with the grant', async () => (await orphaned.attack('/')).status === 200);
  const { client: _, ...people } = policy.people;
  const grants = [{ folder: '/', to: 'everyone', rights: ['read'] }];
  await writeFile(service.accessFile, JSON.stringify({ people, grants }));
  await until('the link ended with the user', () => isGone(orphaned));
});

/** Another process that serves the same folder, with the same database and access file. */
function startProcess(t: TestContext, { root, accessFile }: AttackedService): Promise<Holdall> {
  return startHoldall(t, { root, settings: { ACCESS_FILE: accessFile, RATE_LIMIT: '0', AUDIT_LOG: 'off' } });
}
