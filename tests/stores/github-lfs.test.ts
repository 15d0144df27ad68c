import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { createFiles } from '../../src/files/files.ts';
import { archiveStream } from '../../src/zip/archive-stream.ts';
import { Checksums } from '../../src/zip/checksums.ts';
import { buildArchive } from '../../src/zip/walk.ts';
import type { Changes, Content, OwnResponse } from '../../testing/servers/github.ts';
import { serveRepository } from '../../testing/servers/github-costs.ts';
import { until } from '../../testing/until.ts';
import { file, folder, ofKind, textOf, upload } from '../contract/bytes.ts';
import { send } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { parseArchive } from '../zip/parse-archive.ts';
import { BLOB, MIB, requestsDuring, unavailable, warnings } from './github-reading.ts';
import { type Opened, openRepository, requireMember } from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

const OBJECT = randomBytes(2 * MIB);
const ATTRIBUTES = '# large files\n*.bin filter=lfs diff=lfs merge=lfs -text\n';
const BATCH = 'POST /{owner}/{repo}.git/info/lfs/objects/batch';
const NO_OBJECT = `oid sha256:${'ab'.repeat(32)}\n`;
const VERSION = 'version https://git-lfs.github.com/spec/v1\n';

/** Opens a repository with a pointer to `OBJECT` at a path, and other files. */
async function open(
  t: TestContext,
  path: string,
  files: Readonly<Record<string, Content>>,
): Promise<Opened & { pointer: string; oid: string }> {
  const opened = await openRepository(t, { files: { 'README.md': 'text' } }, { trust: 600 });
  const object = opened.repository.addLfsObject(OBJECT);
  const changes: Changes<Content> = { [path]: object.pointer, ...files };
  await opened.repository.commit(changes);
  return { ...opened, ...object };
}

/** Returns the requests to other servers than the REST API. */
function otherRequests({ host }: Pick<Opened, 'host'>): string[] {
  return host.downloadRequests.map(({ status, route }) => `${status} ${route.replace(BATCH, 'batch')}`);
}

describe('A Git LFS pointer', () => {
  for (const [where, path, attributes] of [
    ['in the root', 'a.bin', '.gitattributes'],
    ['below the attributes', 'f/g/a.bin', '.gitattributes'],
    ['in a folder with attributes of its own', 'f/g/a.bin', 'f/.gitattributes'],
  ]) {
    it(`is served as its object: ${where}`, async (t) => {
      const { store, repository, host } = await open(t, path ?? '', { [attributes ?? '']: ATTRIBUTES });
      const found = await store.stat(file(path ?? ''));
      assert.equal(found.size, OBJECT.length);
      assert.equal(found.etag, await repository.git('rev-parse', `main:${path}`));
      const whole = await store.read(found.path);
      assert.deepEqual(whole.file, found);
      assert.ok((await buffer(whole.body)).equals(OBJECT));
      for (const { headers } of host.downloadRequests.filter(({ route }) => route === 'GET download')) {
        assert.equal(headers.authorization, undefined);
      }
    });
  }

  it('returns a range of its object', async (t) => {
    const { store } = await open(t, 'a.bin', { '.gitattributes': ATTRIBUTES });
    for (const [range, start, end] of [
      [{ start: MIB, end: MIB + 9 }, MIB, MIB + 9],
      [{ suffix: 5 }, OBJECT.length - 5, OBJECT.length - 1],
      [{ start: 0, end: 0 }, 0, 0],
      [{ start: 7 }, 7, OBJECT.length - 1],
    ] as const) {
      const content = await store.read(file('a.bin'), { range });
      assert.deepEqual(content.range, { start, end });
      assert.ok((await buffer(content.body)).equals(OBJECT.subarray(start, end + 1)));
    }
    await assert.rejects(store.read(file('a.bin'), { range: { start: OBJECT.length } }), ofKind('range-unsatisfiable'));
  });

  it('is its object in a ZIP archive', async (t) => {
    const { store } = await open(t, 'f/a.bin', { '.gitattributes': ATTRIBUTES, 'f/b.txt': 'x'.repeat(200) });
    const files = createFiles(store, { presignExpires: 60 });
    const archive = await buildArchive(files, [folder('f')]);
    const { signal } = new AbortController();
    const entries = parseArchive(await buffer(archiveStream(archive, { files, checksums: new Checksums(), signal })));
    assert.deepEqual(
      entries.map(({ name }) => name),
      ['f/a.bin', 'f/b.txt'],
    );
    assert.ok(entries[0]?.content.equals(OBJECT));
  });

  it('is resolved once and then cached', async (t) => {
    const opened = await open(t, 'a.bin', { '.gitattributes': ATTRIBUTES });
    const { store, host } = opened;
    await store.list(folder(''));
    const stat = () => store.stat(file('a.bin'));
    assert.deepEqual(await requestsDuring(opened, stat), [BLOB, BLOB]);
    assert.deepEqual(otherRequests(opened), ['200 batch']);
    host.forget();
    await Promise.all([stat(), stat()]);
    assert.deepEqual([...otherRequests(opened), ...host.requests], []);
  });

  it('is resolved once also without a cache on disk', async (t) => {
    const opened = await open(t, 'a.bin', { '.gitattributes': ATTRIBUTES });
    const store = opened.another({ cache: { ...opened.options.cache, size: 0 } });
    await store.stat(file('a.bin'));
    assert.deepEqual(await requestsDuring(opened, () => store.stat(file('a.bin'))), []);
  });

  it('is moved, copied and deleted as a pointer', async (t) => {
    const { store, repository, pointer } = await open(t, 'a.bin', { '.gitattributes': ATTRIBUTES });
    await requireMember(store, 'copy')(file('a.bin'), file('f/b.bin'), { replace: false });
    assert.equal(await repository.git('show', 'main:f/b.bin'), pointer.trimEnd());
    const { etag } = await store.stat(file('a.bin'));
    await store.remove(file('a.bin'), { ifMatch: etag });
    assert.ok((await buffer((await store.read(file('f/b.bin'))).body)).equals(OBJECT));
  });

  it('is served unchanged when the host has no Git LFS', async (t) => {
    const { store, host, pointer } = await open(t, 'a.bin', { '.gitattributes': ATTRIBUTES });
    host.features.lfs = false;
    assert.equal((await store.stat(file('a.bin'))).size, pointer.length);
    assert.equal(await textOf(store, 'a.bin'), pointer);
  });

  const LFS_TYPE = { 'content-type': 'application/vnd.git-lfs+json' };
  const withHeader = (oid: string, header: Readonly<Record<string, string>>) => ({
    objects: [{ oid, actions: { download: { href: 'http://127.0.0.1:1/', header } } }],
  });
  const offering = (oid: string, href: string) => ({ objects: [{ oid, actions: { download: { href } } }] });
  const responses = [
    ['a web page', () => ({ status: 200, headers: { 'content-type': 'text/html' }, body: '<html>Log in</html>' })],
    ['other JSON', () => ({ status: 200, body: { message: 'Hello' } })],
    ['no object', () => ({ status: 200, body: { objects: [null, { oid: 7 }] } })],
    ['another object', () => ({ status: 200, body: offering('ab'.repeat(32), 'http://127.0.0.1:1/') })],
    ['another scheme', (oid: string) => ({ status: 200, body: offering(oid, 'file:///etc/passwd') })],
    ['an invalid URL', (oid: string) => ({ status: 200, body: offering(oid, 'http://[') })],
    ['an invalid header', (oid: string) => ({ status: 200, body: withHeader(oid, { 'a b': 'c' }) })],
    ['truncated JSON', () => ({ status: 200, headers: LFS_TYPE, body: '{"objects":[' })],
    ['204', () => ({ status: 204, headers: LFS_TYPE })],
    ['404', () => ({ status: 404, body: { message: 'Not Found' } })],
    ['403', (oid: string) => ({ status: 403, body: offering(oid, 'http://127.0.0.1:1/') })],
  ] satisfies [string, (oid: string) => OwnResponse][];
  for (const [name, responseFor] of responses) {
    it(`is served unchanged when the host responds with ${name}`, async (t) => {
      const { store, host, pointer, oid } = await open(t, 'a.bin', { '.gitattributes': ATTRIBUTES });
      host.intercept(({ route }) => (route === BATCH ? responseFor(oid) : undefined));
      assert.equal(await textOf(store, 'a.bin'), pointer);
    });
  }

  it('is served unchanged while its object is missing, which is logged once, and then as the object', async (t) => {
    const opened = await openRepository(t, { files: { 'README.md': 'text' } }, { trust: 600 });
    const { store, repository } = opened;
    const oid = createHash('sha256').update(OBJECT).digest('hex');
    const pointer = `${VERSION}oid sha256:${oid}\nsize ${OBJECT.length}\n`;
    await repository.commit({ 'a.bin': pointer, '.gitattributes': ATTRIBUTES });
    const clock = performance.now.bind(performance);
    let late = 0;
    t.mock.method(performance, 'now', () => clock() + late);
    for (let time = 0; time < 3; time++) {
      assert.equal(await textOf(store, 'a.bin'), pointer);
      late += 25_000;
    }
    assert.deepEqual(otherRequests(opened), ['200 batch']);
    assert.equal(warnings(opened).length, 1);
    repository.addLfsObject(OBJECT);
    // The absence is cached for one minute, also when it is read meanwhile.
    await until('the object is found', async () => (await store.stat(file('a.bin'))).size === OBJECT.length);
  });

  it('is a transient error while the server of the objects fails', async (t) => {
    const { store, host } = await open(t, 'a.bin', { '.gitattributes': ATTRIBUTES });
    const limited = { status: 403, headers: { 'retry-after': '60' } };
    for (const response of [{ status: 500 }, { status: 429 }, limited, 'cut'] as const) {
      host.intercept(({ route }) => (route === BATCH ? response : undefined));
      await assert.rejects(store.stat(file('a.bin')), unavailable(/Git LFS server/));
    }
    host.intercept(undefined);
    assert.equal((await store.stat(file('a.bin'))).size, OBJECT.length);
    for (const cutAfterBytes of [0, 1000, OBJECT.length - 1]) {
      host.intercept(({ route }) => (route === 'GET download' ? { cutAfterBytes } : undefined));
      const read = async () => buffer((await store.read(file('a.bin'))).body);
      await assert.rejects(read(), unavailable(/Git LFS server/));
    }
    host.intercept(({ route }) => (route === 'GET download' ? { status: 200, body: 'short' } : undefined));
    await assert.rejects(async () => buffer((await store.read(file('a.bin'))).body), unavailable(/part of the file/));
    host.intercept(undefined);
    assert.ok((await buffer((await store.read(file('a.bin'))).body)).equals(OBJECT));
  });
});

describe('An upload of a Git LFS pointer', () => {
  const standard = `${VERSION}${NO_OBJECT}size 5\n`;
  const pointers: Readonly<Record<string, string>> = {
    standard,
    'with CRLF': standard.replaceAll('\n', '\r\n'),
    'after white space': `\n \t\r\n${standard}`,
    'with an extension': standard.replace('oid', `ext-0-foo sha256:${'cd'.repeat(32)}\noid`),
    'of the pre-release': standard.replace('git-lfs', 'hawser'),
    'of the alpha': standard.replace('https://git-lfs.github.com/spec/v1', 'http://git-media.io/v/2'),
    'with line separators of Unicode': `${VERSION}x\u2028oid sha256:${'ab'.repeat(32)}\u2028size 5\n`,
    'with paragraph separators of Unicode': `${VERSION}x\u2029oid sha256:${'ab'.repeat(32)}\u2029size 5\n`,
    'with CR alone': standard.replaceAll('\n', '\r'),
    'with a byte order mark': `\ufeff${standard}`,
    'followed by NUL': `${standard}\0`,
    'in upper case': standard.toUpperCase(),
    'of which git-lfs reads the first 1,024 bytes': standard.padEnd(1024) + 'x',
    'of which git-lfs reads the first 1,024 bytes, and large': standard.padEnd(1024) + 'x'.repeat(100_000),
    'of 1,024 bytes': standard + ' '.repeat(1024 - standard.length),
  };
  it('is rejected and changes nothing', async (t) => {
    const { store, host } = await openRepository(t);
    for (const [name, text] of Object.entries(pointers)) {
      const refused = { kind: 'invalid-request', message: /Git LFS pointer/ };
      await assert.rejects(store.write(file('a.bin'), upload(text)), refused, name);
      await assert.rejects(requireMember(store, 'stage')(upload(text)), refused, name);
    }
    assert.equal(host.requests.filter(({ method }) => method !== 'GET').length, 0);
  });

  it('is accepted when the text only mentions pointers', async (t) => {
    const { store } = await openRepository(t);
    for (const text of [`# Pointers\n\n${standard}`, VERSION, NO_OBJECT, `${standard}${'x'.repeat(1024)}`]) {
      await store.write(file('a.md'), upload(text));
      assert.equal(await textOf(store, 'a.md'), text);
    }
  });
});

describe('A settings file of git', () => {
  it('is privileged in every spelling that a file system treats as the same name', async (t) => {
    const { store } = await openRepository(t);
    const isPrivileged = (path: string) => requireMember(store, 'isPrivileged')(file(path));
    const attributes = ['.gitattributes', '.GitAttributes', '.gitattributes .', 'GITATT~1', '.gitattributes::$DATA'];
    for (const name of [...attributes, '.git\u200cattributes']) {
      assert.ok(isPrivileged(name), name);
      assert.ok(isPrivileged(`f/g/${name}`), name);
    }
    for (const name of ['.gitmodules', '.lfsconfig', '.LFSConfig']) {
      assert.ok(isPrivileged(name), name);
      assert.ok(!isPrivileged(`f/${name}`), name);
    }
    for (const name of ['.gitignore', 'gitattributes', '.gitattributes2', 'x.gitattributes', '.gitattributes/x']) {
      assert.ok(!isPrivileged(name), name);
    }
  });
});

describe('A file that only looks like a Git LFS pointer', () => {
  it('causes no request when no .gitattributes file enables Git LFS', async (t) => {
    const opened = await open(t, 'a.bin', { '.gitattributes': '* text=auto\n', 'f/.gitattributes': ATTRIBUTES });
    const { store, pointer } = opened;
    await store.list(folder(''));
    // Reads the attributes once.
    await store.stat(file('a.bin'));
    assert.deepEqual(await requestsDuring(opened, async () => assert.equal(await textOf(store, 'a.bin'), pointer)), [
      BLOB,
    ]);
    assert.deepEqual(otherRequests(opened), []);
  });

  it('causes no request without a .gitattributes file', async (t) => {
    const opened = await open(t, 'a.bin', {});
    await opened.store.list(folder(''));
    assert.deepEqual(await requestsDuring(opened, () => opened.store.stat(file('a.bin'))), []);
    assert.deepEqual(otherRequests(opened), []);
  });

  const hostile: Record<string, string> = {
    'a size that is not an integer': `${VERSION}${NO_OBJECT}size 1e30\n`,
    'a negative size': `${VERSION}${NO_OBJECT}size -1\n`,
    'a size with too many digits': `${VERSION}${NO_OBJECT}size ${'9'.repeat(400)}\n`,
    'no size': `${VERSION}${NO_OBJECT}`,
    'an identifier with dot segments': `${VERSION}oid sha256:${'../'.repeat(21)}a\nsize 5\n`,
    'another hash algorithm': `${VERSION}oid md5:${'ab'.repeat(32)}\nsize 5\n`,
    'another version': `version https://example.com/v9\n${NO_OBJECT}size 5\n`,
    'an empty first line': `\n${VERSION}${NO_OBJECT}size 5\n`,
    'more bytes than a pointer can have': `${VERSION}${NO_OBJECT}size 5\n${'x'.repeat(1024)}`,
    'line separators of Unicode': `${VERSION}x\u2028${NO_OBJECT.trim()}\u2028size 5\n`,
    'binary content': `\0${'\u00ff'.repeat(100)}`,
  };
  it('is served unchanged when its text is not a valid pointer', async (t) => {
    const files = Object.fromEntries(Object.entries(hostile).map(([name, text]) => [`${name}.bin`, text]));
    const opened = await open(t, 'true.bin', { ...files, '.gitattributes': ATTRIBUTES });
    for (const [path, text] of Object.entries(files)) {
      assert.equal((await opened.store.stat(file(path))).size, Buffer.byteLength(text), path);
      assert.equal(await textOf(opened.store, path), text, path);
    }
    assert.deepEqual(otherRequests(opened), []);
  });

  it('is served unchanged when it declares another size than its object has', async (t) => {
    const { store, repository, oid } = await open(t, 'true.bin', { '.gitattributes': ATTRIBUTES });
    const text = `${VERSION}oid sha256:${oid}\nsize 999999999999999\n`;
    const other = await repository.commit({ 'a.bin': text });
    assert.equal(other.length, 40);
    // The two are cached independently, in either order.
    for (let time = 0; time < 2; time++) {
      assert.equal((await store.stat(file('true.bin'))).size, OBJECT.length);
      assert.equal(await textOf(store, 'a.bin'), text);
    }
  });

  it('is served unchanged when .gitattributes is a symbolic link', async (t) => {
    const opened = await open(t, 'f/a.bin', { '.gitattributes': { mode: '120000', content: 'filter=lfs' } });
    await opened.store.list(folder(''));
    assert.deepEqual(await requestsDuring(opened, () => opened.store.stat(file('f/a.bin'))), []);
  });
});

describe('A large Git LFS object', () => {
  it('redirects to the URL of its server', async (t) => {
    const large = randomBytes(6 * MIB);
    const served = await serveRepository({ 'README.md': 'text' });
    t.after(served.stop);
    const { port, host, repository } = served;
    const { pointer } = repository.addLfsObject(large);
    await repository.commit({ 'a.bin': pointer, '.gitattributes': ATTRIBUTES });
    const responses = [await send(port, '/file/a.bin'), await send(port, '/file/a.bin')];
    const locations = responses.map(({ headers }) => headers.location ?? '');
    assert.deepEqual(
      responses.map(({ status }) => status),
      [302, 302],
    );
    assert.equal(new Set(locations).size, 2);
    const { port: other, pathname, search } = new URL(locations[0] ?? '');
    assert.ok((await send(Number(other), pathname + search)).body.equals(large));
    assert.ok(host.requests.every(({ route }) => !route.includes('/contents/')));
  });
});
