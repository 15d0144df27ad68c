import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { createFiles } from '../../src/files/files.ts';
import { isStoreError } from '../../src/model/error.ts';
import { MAX_INLINE_BYTES } from '../../src/stores/github/commits/upload.ts';
import { until } from '../../testing/until.ts';
import { file, folder, ofKind, upload } from '../contract/bytes.ts';
import type { Need } from '../runner/needs.ts';
import {
  bytesUpload,
  countCommits,
  event,
  fileOf,
  filesIn,
  openRepository,
  PATCH_REF,
  POST_BLOB,
  requireMember,
  sent,
} from './github-writing.ts';

export const needs: readonly Need[] = ['git'];

const MIB = 1024 * 1024;

describe('Uploaded bytes', () => {
  it('are returned unchanged, for any content', async (t) => {
    const { store, repository, host } = await openRepository(t, {}, { gatherFor: 20 });
    const all = Object.entries(ODD).map(([name, content], index) => {
      const bytes = Buffer.from(content);
      return { name, bytes, path: `f/${index}` };
    });
    const written = await Promise.all(all.map(({ path, bytes }) => store.write(file(path), bytesUpload(bytes))));
    const files = await filesIn(repository);
    for (const [index, { name, bytes, path }] of all.entries()) {
      assert.equal(files[path], fileOf(bytes), name);
      assert.equal(written[index]?.size, bytes.length, name);
      const { body } = await store.read(file(path));
      assert.ok((await buffer(body)).equals(bytes), name);
    }
    assert.ok(sent(host, POST_BLOB).length < all.length, 'texts go along with the commit');
  });

  it('keep their names unchanged', async (t) => {
    const { store, repository } = await openRepository(t, {}, { gatherFor: 20 });
    const names = [
      '123n',
      '-5n',
      '1nn',
      '123n"',
      '"123n"',
      '🦊',
      '\u2028',
      'e\u0301',
      '\\n',
      '100%',
      '-',
      ' ',
      '#',
      '{count}',
    ];
    await Promise.all(names.map((name) => store.write(file(`f/${name}/${name}`), upload(name))));
    const { 'README.md': _, ...files } = await filesIn(repository);
    assert.deepEqual(files, Object.fromEntries(names.map((name) => [`f/${name}/${name}`, fileOf(name)])));
    const { entries } = await store.list(folder('f'));
    assert.equal(entries.length, names.length);
  });

  it('are streamed when they are large: 6 MB', async (t) => {
    const { store, repository, host } = await openRepository(t);
    const chunk = randomBytes(MIB + 1);
    const whole = Buffer.concat(Array.from({ length: 6 }, () => chunk));
    const { etag, size } = await store.write(file('a'), {
      body: Readable.from(Array.from({ length: 6 }, () => chunk)),
      type: 'x/y',
      size: whole.length,
    });
    assert.equal(size, whole.length);
    assert.equal((await filesIn(repository))['a'], fileOf(whole));
    assert.equal(`100644 ${etag}`, fileOf(whole));
    assert.equal(sent(host, POST_BLOB).length, 1);
  });

  it('stay staged until commit or abort', async (t) => {
    const { store, repository } = await openRepository(t);
    const stage = requireMember(store, 'stage');
    const [small, large, forgotten] = [Buffer.from('small\0'), randomBytes(MIB), Buffer.from('forgotten\0')];
    const staged = await Promise.all([small, large, forgotten].map((bytes) => stage(bytesUpload(bytes))));
    assert.equal(await countCommits(repository), 1);
    const [first, second, third] = staged;
    await first?.commit(file('small'), { type: 'x/y' });
    await second?.commit(file('large'), { type: 'x/y' }, { condition: 'absent' });
    await third?.abort();
    const { 'README.md': _, ...files } = await filesIn(repository);
    assert.deepEqual(files, { large: fileOf(large), small: fileOf(small) });
  });

  it('keep the executable bit of a replaced file and of a moved file', async (t) => {
    const script = { mode: '100755', content: 'old' } as const;
    const { store, repository } = await openRepository(t, { files: { run: script, 'f/run': script, a: 'a' } });
    await store.write(file('run'), upload('new'));
    await requireMember(store, 'copy')(file('run'), file('copied'), { replace: false });
    await requireMember(store, 'move')(file('run'), file('moved'), { replace: false });
    await requireMember(store, 'moveFolder')(folder('f'), folder('g'), { replace: false });
    await requireMember(store, 'copy')(file('a'), file('g/run'), { replace: true });
    assert.deepEqual(await filesIn(repository), {
      a: fileOf('a'),
      copied: fileOf('new', '100755'),
      'g/run': fileOf('a'),
      moved: fileOf('new', '100755'),
    });
  });
});

describe('A rejected upload', () => {
  it('fails before its bytes are sent when its condition or path conflicts', async (t) => {
    const { store, host } = await openRepository(t, { files: { a: 'old', 'f/b': 'b' } });
    const large = () => bytesUpload(randomBytes(MAX_INLINE_BYTES * 2));
    const cases = [
      ['condition-failed', () => store.write(file('a'), large(), { condition: 'absent' })],
      ['condition-failed', () => store.write(file('a'), large(), { condition: { etag: 'another' } })],
      ['condition-failed', () => store.write(file('none'), large(), { condition: { etag: 'another' } })],
      ['wrong-kind', () => store.write(file('f'), large())],
      ['wrong-kind', () => store.write(file('a/below'), large())],
      ['condition-failed', () => store.write(file('a'), bytesUpload(Buffer.from([0, 1])), { condition: 'absent' })],
    ] as const;
    for (const [kind, write] of cases) await assert.rejects(write(), ofKind(kind));
    assert.deepEqual(
      sent(host).map(({ route }) => route),
      [],
    );
  });

  it('fails as too large above 100 MiB, and the error names the limit', async (t) => {
    const { store, host, repository } = await openRepository(t);
    const chunk = Buffer.alloc(MIB);
    let given = 0;
    const body = Readable.from(
      (function* () {
        for (; given < 200; given++) yield chunk;
      })(),
    );
    await assert.rejects(store.write(file('a'), { body, type: 'x/y' }), (error) => {
      assert.ok(isStoreError(error, 'too-large'));
      assert.match(error.message, /104857600 bytes \(100 MB\)/);
      return true;
    });
    assert.ok(body.destroyed);
    assert.ok(given < 150, `${given} MiB were read`);
    assert.equal(await countCommits(repository), 1);
    await until('the request has ended', () => sent(host, POST_BLOB).every(({ status }) => status !== 201));
  });

  for (const [how, limit] of [
    ['of the blob', 'blobBytes'],
    ['of the request', 'blobRequestBytes'],
  ] as const) {
    it(`fails as too large when the host rejects its size: ${how}`, async (t) => {
      const { store, host, repository } = await openRepository(t, { files: { a: 'old' } });
      host.limits[limit] = MIB;
      await assert.rejects(store.write(file('a'), bytesUpload(randomBytes(2 * MIB))), ofKind('too-large'));
      assert.equal(await repository.git('show', 'main:a'), 'old');
    });
  }

  for (const [status, message] of [
    [413, 'Payload Too Large'],
    [422, 'input too large to process'],
  ] as const) {
    it(`fails as too large when the host rejects its size during the upload: ${status}`, async (t) => {
      const { store, host, repository } = await openRepository(t, { files: { a: 'old' } });
      host.intercept(({ route }) => (route === POST_BLOB ? { status, body: { message } } : undefined));
      await assert.rejects(store.write(file('a'), bytesUpload(randomBytes(5 * MIB))), ofKind('too-large'));
      assert.equal(await countCommits(repository), 1);
    });
  }

  it('keeps the old file when its body fails, early or late', async (t) => {
    const { store, host, repository } = await openRepository(t, { files: { a: 'old' } });
    for (const before of [0, 10, MAX_INLINE_BYTES * 3, 5 * MIB]) {
      const body = Readable.from(failing(before));
      await assert.rejects(store.write(file('a'), { body, type: 'x/y' }), /aborted by the caller/);
      assert.ok(body.destroyed);
    }
    assert.equal(await countCommits(repository), 1);
    assert.ok(sent(host, POST_BLOB).every(({ status }) => status !== 201));
  });

  it('keeps the old file when its size differs from the announced size', async (t) => {
    const { store, repository } = await openRepository(t, { files: { a: 'old' } });
    for (const size of [10, MAX_INLINE_BYTES, MAX_INLINE_BYTES + 1, MIB]) {
      for (const announced of [size - 1, size + 1]) {
        const given = { ...bytesUpload(randomBytes(size)), size: announced };
        await assert.rejects(store.write(file('a'), given), ofKind('invalid-request'));
      }
    }
    assert.equal(await countCommits(repository), 1);
  });

  it('ends at once when it is cancelled, and aborts its request', async (t) => {
    const { store, host, repository } = await openRepository(t, { files: { a: 'old' } });
    const cancelled = new AbortController();
    const arrived = event();
    host.intercept(({ route }) => {
      if (route === POST_BLOB) arrived.happen();
      return undefined;
    });
    const body = new Readable({ read() {} });
    body.push(randomBytes(MIB));
    const write = store.write(file('a'), { body, type: 'x/y' }, { signal: cancelled.signal });
    await arrived.happened;
    cancelled.abort(new Error('the caller left'));
    await assert.rejects(write, /the caller left/);
    assert.ok(body.destroyed);
    assert.equal(await countCommits(repository), 1);
    assert.equal(sent(host, POST_BLOB, PATCH_REF).filter(({ status }) => status === 201).length, 0);
  });

  it('is not retried when its connection breaks, because its bytes are consumed', async (t) => {
    const { store, host, repository } = await openRepository(t, { files: { a: 'old' } });
    host.intercept(({ route }) => (route === POST_BLOB ? 'cut' : undefined));
    await assert.rejects(store.write(file('a'), bytesUpload(randomBytes(MIB))), ofKind('unavailable'));
    assert.equal(sent(host, POST_BLOB).length, 1);
    assert.equal(await countCommits(repository), 1);
  });

  it('fails in an archived repository with the message of the host', async (t) => {
    const { store, repository } = await openRepository(t);
    repository.archive();
    const files = createFiles(store, { presignExpires: 60 });
    await assert.rejects(files.upload({ target: { path: file('a') }, ...bytesUpload(randomBytes(MIB)) }), (error) => {
      assert.ok(isStoreError(error, 'denied'));
      assert.match(error.message, /archived/);
      return true;
    });
  });
});

/** Contents that JSON, Base64 or text conversions often damage. */
const ODD: Readonly<Record<string, string | Buffer>> = {
  'no byte': '',
  'one byte': 'x',
  'a text just below the limit': 'a'.repeat(MAX_INLINE_BYTES - 1),
  'a text of the limit': 'b'.repeat(MAX_INLINE_BYTES),
  'a text just above the limit': 'c'.repeat(MAX_INLINE_BYTES + 1),
  'bytes of the limit': randomBytes(MAX_INLINE_BYTES),
  'bytes just above the limit': randomBytes(MAX_INLINE_BYTES + 1),
  'two bytes above a multiple of three': randomBytes(3 * 20_000 + 2),
  'a byte order mark': '\ufefftext',
  'a byte order mark of UTF-16': Buffer.from([0xff, 0xfe, 0x41, 0]),
  'a NUL': 'a\0b',
  'ends of lines of Windows': 'a\r\nb\r\n',
  'a carriage return alone': 'a\rb',
  'a carriage return at the end': 'a\r',
  'empty lines at the end': 'a\n\n\n',
  'white space only': ' \t\n ',
  'invalid UTF-8': Buffer.from([0x61, 0xc3, 0x28]),
  'a cut character': Buffer.from([0x61, 0xf0, 0x9f, 0xa6]),
  'half a surrogate pair': Buffer.from([0xed, 0xa0, 0x80]),
  'a replacement character': '\ufffd',
  'separators of lines': 'a\u2028b\u2029c\u0085d',
  'a character outside of the first plane': '🦊'.repeat(8000),
  'control characters, long in JSON': '\u0001\u001f\u007f'.repeat(10_000),
  'quotes and backslashes': '"\\/\b\f'.repeat(6000),
  'a number with an n': '123n',
  'a negative number with two': '-5nn',
  'JSON with such a number': '{"a":"123n","b":["456n"]}',
  'something like JSON': '{"encoding":"base64","content":""}',
  'a null in words': 'null',
};

/** Returns a stream of this number of bytes, followed by an error. */
function* failing(before: number): Generator<Buffer> {
  for (let given = 0; given < before; given += 64 * 1024) yield randomBytes(Math.min(64 * 1024, before - given));
  throw new Error('aborted by the caller');
}
