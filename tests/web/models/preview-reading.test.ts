import assert from 'node:assert/strict';
import { afterEach, describe, it, mock } from 'node:test';
import { createTextReader, readWholeText } from '../../../web/src/features/viewer/text/read-text.ts';
import { readContent, StoreAccessError } from '../../../web/src/platform/service/content.ts';
import type { FileEntry, Service } from '../../../web/src/platform/service/service.ts';
import { refusal } from './service-errors.ts';

const { signal } = new AbortController();

/** The service with one file, and the ranges that were read from it. */
function serviceWith(bytes: Uint8Array, read?: Service['read']) {
  const ranges: string[] = [];
  const service: Pick<Service, 'read'> = {
    async read(path, part) {
      const { from, length } = part;
      ranges.push(`${from}-${from + length - 1}`);
      return read ? read(path, part) : bytes.subarray(from, from + length);
    },
  };
  return { service, ranges };
}

const entryOf = (size: number, contentType = 'text/plain'): FileEntry => ({
  type: 'file',
  name: 'a.txt',
  path: 'a.txt',
  size,
  modified: null,
  contentType,
  etag: '',
});

describe('A long text', () => {
  it('is read in parts of 256 KiB and then 1 MiB, up to its end', async () => {
    const bytes = Buffer.alloc(2_000_000, 'line\n');
    const { service, ranges } = serviceWith(bytes);
    const reader = createTextReader({ service, language: 'en' }, entryOf(bytes.length));
    let text = '';
    while (!reader.isAtEnd) text += await reader.readNext(signal);
    assert.equal(text, bytes.toString());
    assert.deepEqual(ranges, ['0-262143', '262144-1310719', '1310720-1999999']);
    assert.equal(reader.position, 2_000_000);
  });

  it('keeps a character that is cut between two parts', async () => {
    const bytes = Buffer.from(`${'x'.repeat(262_143)}文${'y'.repeat(100)}`);
    const { service } = serviceWith(bytes);
    const reader = createTextReader({ service, language: 'en' }, entryOf(bytes.length));
    const [first, second] = [await reader.readNext(signal), await reader.readNext(signal)];
    assert.equal(`${first}${second}`, bytes.toString());
  });

  it('ends where the file has become shorter', async () => {
    const { service } = serviceWith(Buffer.from('short'));
    const reader = createTextReader({ service, language: 'en' }, entryOf(1_000_000));
    assert.equal(await reader.readNext(signal), 'short');
    assert.equal(reader.position, 5);
    assert.equal(reader.isAtEnd, true);
  });

  it('continues at the same position after a failure', async () => {
    const bytes = Buffer.alloc(600_000, 'abcdefghi\n');
    let isGone = false;
    const { service, ranges } = serviceWith(bytes, async (_path, { from, length }) => {
      if (isGone) throw refusal('not-found', 'There is no such file.');
      return bytes.subarray(from, from + length);
    });
    const reader = createTextReader({ service, language: 'en' }, entryOf(bytes.length));
    const first = await reader.readNext(signal);
    isGone = true;
    await assert.rejects(reader.readNext(signal), { status: 404 });
    assert.equal(reader.position, 262_144);
    isGone = false;
    assert.equal(`${first}${await reader.readNext(signal)}`, bytes.toString());
    assert.equal(ranges[1], ranges[2]);
  });

  it('is undefined where the bytes are no text', async () => {
    const { service } = serviceWith(Buffer.from([65, 0, 66]));
    const reader = createTextReader({ service, language: 'en' }, entryOf(3));
    assert.equal(await reader.readNext(signal), undefined);
    assert.equal(await readWholeText({ service, language: 'en' }, entryOf(3), signal), undefined);
  });
});

describe('A whole text', () => {
  it('is decoded by its byte order mark, its charset, or the language of the page', async () => {
    for (const [bytes, contentType, language, text] of [
      [Buffer.from('\ufeffwide characters ✓', 'utf16le'), 'text/plain', 'en', 'wide characters ✓'],
      [Buffer.from('caf\xe9', 'latin1'), 'text/plain; charset=utf-8', 'en', 'café'],
      [Buffer.from([0xce, 0xc4, 0xbc, 0xfe]), 'text/plain', 'zh-Hans', '文件'],
      [Buffer.from([0xce, 0xc4, 0xbc, 0xfe]), 'text/plain; charset="gbk"', 'en', '文件'],
    ] as const) {
      const { service, ranges } = serviceWith(bytes);
      const entry = entryOf(bytes.length, contentType);
      assert.equal(await readWholeText({ service, language }, entry, signal), text);
      assert.deepEqual(ranges, [`0-${bytes.length - 1}`]);
    }
  });
});

describe('Reading a range of a file', () => {
  afterEach(() => mock.restoreAll());

  const part = { from: 2, length: 3, signal };
  /** Answers each request with the next response; an error fails it. */
  function respond(...responses: (Response | Error)[]) {
    const requests: { method: string; range: string | null }[] = [];
    // Restoring two mocks of one method, first to last, would leave the first mock.
    mock.restoreAll();
    mock.method(globalThis, 'fetch', async (_url: string, { method = 'GET', headers }: RequestInit = {}) => {
      requests.push({ method, range: new Headers(headers).get('range') });
      const response = responses.shift();
      if (response instanceof Response) return response;
      throw response ?? new Error('No further request was expected.');
    });
    return requests;
  }
  it('returns the bytes of a partial response', async () => {
    const requests = respond(new Response('cde', { status: 206 }));
    assert.equal(Buffer.from(await readContent('/file/a', part)).toString(), 'cde');
    assert.deepEqual(requests, [{ method: 'GET', range: 'bytes=2-4' }]);
  });

  it('returns the same bytes of a server that ignores ranges', async () => {
    respond(new Response('abcdefgh', { status: 200 }));
    assert.equal(Buffer.from(await readContent('/file/a', part)).toString(), 'cde');
  });

  it('returns no bytes behind the end of the file', async () => {
    respond(new Response('', { status: 416 }));
    assert.equal((await readContent('/file/a', part)).length, 0);
  });

  it('fails with the status, the code and the words of the service', async () => {
    const envelope = { success: false, code: 'not-found', error: 'There is no such file.' };
    respond(new Response(JSON.stringify(envelope), { status: 404 }));
    const expected = { status: 404, code: 'not-found', message: 'There is no such file.' };
    await assert.rejects(readContent('/file/a', part), expected);
  });

  it('tells a store that refuses the page from a service that is unreachable', async () => {
    const requests = respond(new TypeError('Failed to fetch'), new Response(null, { status: 200 }));
    await assert.rejects(readContent('/file/a', part), StoreAccessError);
    assert.deepEqual(requests[1], { method: 'HEAD', range: null });
    respond(new TypeError('Failed to fetch'), new TypeError('Failed to fetch'));
    await assert.rejects(readContent('/file/a', part), { name: 'ServiceError', status: 0 });
    respond(new TypeError('Failed to fetch'), new Response(null, { status: 403 }));
    await assert.rejects(readContent('/file/a', part), { name: 'ServiceError', status: 403 });
  });

  it('fails with the reason of its signal', async () => {
    const requests = respond(new DOMException('Aborted.', 'AbortError'));
    await assert.rejects(readContent('/file/a', part), { name: 'AbortError' });
    assert.equal(requests.length, 1);
  });
});
