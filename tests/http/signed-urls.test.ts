import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { disk } from '../contract/backend.ts';
import { assertFailure, escapePath, postForm, send, upload } from './client.ts';
import { type ServiceOptions, startService, type TestService } from './service.ts';

// The disk has no presigned URLs, so the service signs its own.
describe('signed URLs', () => {
  let service: TestService;
  /** Returns the path and query of the URL to which the service redirects requests for `LARGE`. */
  let signed: URL;

  before(async () => {
    service = await startService(disk);
    await Promise.all([LARGE, OTHER].map((path) => upload(service.port, path, BYTES)));
    signed = await signedBy(service, LARGE);
    assert.match(signed.pathname, /^\/-\/signed\//);
  });
  after(() => service.stop());

  const get = (url: string, headers?: Record<string, string>, method = 'GET') =>
    send(service.port, url, { method, headers });

  describe('return the file', () => {
    it('with only the URL, and with the headers of /file/', async () => {
      const { status, headers, body } = await get(urlOf(signed));
      assert.equal(status, 200);
      assert.ok(body.equals(BYTES));
      assert.equal(headers['content-type'], 'text/plain; charset=utf-8');
      assert.equal(headers['content-length'], String(BYTES.length));
      assert.equal(headers['accept-ranges'], 'bytes');
      assert.equal(headers['content-disposition'], undefined);
      assert.match(String(headers.etag), /^"[^"]+"$/);
    });

    it('HEAD returns the headers of GET', async () => {
      const [whole, head] = [await get(urlOf(signed)), await get(urlOf(signed), {}, 'HEAD')];
      assert.equal(head.status, 200);
      assert.equal(head.body.length, 0);
      for (const name of ['content-type', 'content-length', 'etag', 'last-modified', 'accept-ranges'] as const) {
        assert.equal(head.headers[name], whole.headers[name], name);
      }
    });

    it('returns ranges', async () => {
      for (const [range, start, end] of [
        ['bytes=0-0', 0, 0],
        ['bytes=6291440-', 6_291_440, BYTES.length - 1],
        ['bytes=-7', BYTES.length - 7, BYTES.length - 1],
      ] as const) {
        const { status, headers, body } = await get(urlOf(signed), { range });
        assert.equal(status, 206);
        assert.equal(headers['content-range'], `bytes ${start}-${end}/${BYTES.length}`);
        assert.ok(body.equals(BYTES.subarray(start, end + 1)));
      }
      const none = await get(urlOf(signed), { range: `bytes=${BYTES.length}-` });
      assertFailure(none, 416, /bytes/);
      assert.equal(none.headers['content-range'], `bytes */${BYTES.length}`);
    });

    it('evaluates preconditions', async () => {
      const { headers } = await get(urlOf(signed), { range: 'bytes=0-0' });
      const etag = String(headers.etag);
      assert.equal((await get(urlOf(signed), { 'if-none-match': etag })).status, 304);
      assert.equal((await get(urlOf(signed), { range: 'bytes=0-0', 'if-range': '"other"' })).status, 200);
      assertFailure(await get(urlOf(signed), { 'if-match': '"other"' }), 412, /ETag/);
    });

    it('contains the download parameter', async () => {
      const download = await signedBy(service, LARGE, '?download=1');
      const { headers } = await get(urlOf(download), {}, 'HEAD');
      assert.match(String(headers['content-disposition']), /^attachment; /);
    });

    it('redirects correctly behind a proxy with a path prefix', async () => {
      for (const path of [escapePath(LARGE), escapePath(OTHER), escapePath(LARGE).replaceAll('/', '%2F')]) {
        const { headers } = await get(`/file/${path}`);
        const base = `http://proxy.example/below/here/file/${path}`;
        const { host, pathname } = new URL(String(headers.location), base);
        assert.equal(host, 'proxy.example');
        assert.ok(pathname.startsWith('/below/here/-/signed/'), pathname);
      }
    });

    it('returns 404 for a removed file', async () => {
      await upload(service.port, 'removed.bin', BYTES);
      const url = await signedBy(service, 'removed.bin');
      await send(service.port, '/delete/removed.bin', { method: 'DELETE' });
      assertFailure(await get(urlOf(url)), 404, /removed\.bin/);
    });
  });

  describe('return 403 after any change', () => {
    const query = (change: (query: URLSearchParams) => void) => (url: URL) => {
      const changed = new URL(url);
      change(changed.searchParams);
      return urlOf(changed);
    };
    const signature = (change: (text: string) => string) =>
      query((given) => given.set('signature', change(given.get('signature') ?? '')));
    const expires = (change: (seconds: number) => number | string) =>
      query((given) => given.set('expires', String(change(Number(given.get('expires'))))));
    const otherLetter = (letter = '') => (letter === 'A' ? 'B' : 'A');

    const alterations: Record<string, (url: URL) => string> = {
      'the path of another file': ({ search }) => `/-/signed/${escapePath(OTHER)}${search}`,
      'the path of a missing file': ({ search }) => `/-/signed/missing.bin${search}`,
      'a path below': ({ pathname, search }) => `${pathname}/below${search}`,
      'the path without its first folder': ({ pathname, search }) => pathname.replace('large%20folder/', '') + search,
      'the path in capitals': ({ pathname, search }) => pathname.replace('txt', 'TXT') + search,
      'the path escaped twice': ({ pathname, search }) => pathname.replaceAll('%', '%25') + search,
      'no query': ({ pathname }) => pathname,
      'an empty query': ({ pathname }) => `${pathname}?`,
      'no expiry': query((given) => given.delete('expires')),
      'a later expiry': expires((seconds) => seconds + 1),
      'an earlier expiry': expires((seconds) => seconds - 1),
      'an endless expiry': expires(() => 'Infinity'),
      'an expiry that is no number': expires(() => 'tomorrow'),
      'an empty expiry': expires(() => ''),
      'the expiry written otherwise': expires((seconds) => `${seconds}.0`),
      'the expiry with a sign': expires((seconds) => `+${seconds}`),
      'two expiries': query((given) => given.append('expires', '99999999999')),
      'no signature': query((given) => given.delete('signature')),
      'an empty signature': signature(() => ''),
      'a signature with another beginning': signature((text) => otherLetter(text[0]) + text.slice(1)),
      'a signature with another end': signature((text) => text.slice(0, -2) + otherLetter(text.at(-2)) + text.at(-1)),
      'half a signature': signature((text) => text.slice(0, 20)),
      'a longer signature': signature((text) => `${text}A`),
      'a padded signature': signature((text) => `${text}=`),
      'an invalid signature': signature(() => '../../é\0'),
      'two signatures': query((given) => given.append('signature', given.get('signature') ?? '')),
      'a parameter more': query((given) => given.append('x', '1')),
      'a download that was not signed': query((given) => given.append('download', '1')),
      'a download that was not signed, at the signed position': ({ pathname, search }) =>
        pathname + search.replace('&', '&download=1&'),
      'the parameters in another order': ({ pathname, search }) =>
        `${pathname}?${search.slice(1).split('&').toReversed().join('&')}`,
    };
    for (const [what, alter] of Object.entries(alterations)) {
      it(what, async () => {
        for (const method of ['GET', 'HEAD']) {
          const response = await get(alter(signed), {}, method);
          assert.equal(response.status, 403);
          if (method === 'GET') assertFailure(response, 403, /not valid/);
        }
        // The unchanged URL still works.
        assert.equal((await get(urlOf(signed), {}, 'HEAD')).status, 200);
      });
    }

    it('a URL without its signed download parameter', async () => {
      const download = await signedBy(service, LARGE, '?download=1');
      assert.equal((await get(urlOf(download), {}, 'HEAD')).status, 200);
      for (const change of [
        query((given) => given.delete('download')),
        query((given) => given.set('download', '0')),
        query((given) => given.set('download', '')),
      ]) {
        assertFailure(await get(change(download)), 403, /not valid/);
      }
    });

    it('a URL that another service signed with its own key', async () => {
      await withService({}, async (other) => {
        await upload(other.port, LARGE, BYTES);
        const foreign = await signedBy(other, LARGE);
        assert.equal((await send(other.port, urlOf(foreign), { method: 'HEAD' })).status, 200);
        assertFailure(await get(urlOf(foreign)), 403, /not valid/);
      });
    });

    it('an expired URL, with that reason', async () => {
      await withService({ presignExpires: -1 }, async (late) => {
        await upload(late.port, LARGE, BYTES);
        for (const requested of ['', '?download=1']) {
          const response = await send(late.port, urlOf(await signedBy(late, LARGE, requested)));
          assertFailure(response, 403, /expired/);
          assert.equal(response.headers['content-disposition'], undefined);
        }
        // A changed expiry is invalid.
        const url = await signedBy(late, LARGE);
        assertFailure(await send(late.port, expires((seconds) => seconds + 3600)(url)), 403, /not valid/);
      });
    });
  });

  it('hides the folder of the signing key', async () => {
    const listing = await send(service.port, '/');
    assert.doesNotMatch(listing.body.toString(), /holdall/);
    const key = '.holdall/signing-key';
    for (const path of [
      '/.holdall',
      '/.holdall/',
      '/?prefix=.holdall',
      '/?prefix=/.holdall/temporary',
      '/file/.holdall',
      `/file/${key}`,
      `/file/%2Eholdall%2Fsigning-key`,
      `/thumb/${key}`,
    ]) {
      assertFailure(await get(path), 404, /holdall/);
    }
    const file = { name: 'file', filename: 'signing-key', value: 'x'.repeat(64) };
    for (const prefix of ['.holdall', '/.holdall/', '.holdall/deep']) {
      const named = { name: 'prefix', value: prefix };
      assertFailure(await postForm(service.port, [named, file]), 404, /holdall/);
      assertFailure(await postForm(service.port, [file, named]), 404, /holdall/);
    }
    assert.equal((await get(urlOf(signed), {}, 'HEAD')).status, 200);
  });

  async function withService(options: ServiceOptions, task: (service: TestService) => Promise<void>): Promise<void> {
    const another = await startService(disk, options);
    try {
      await task(another);
    } finally {
      await another.stop();
    }
  }
});

const BYTES = randomBytes(6 * 1024 * 1024);
const LARGE = 'large folder/50% é"#?+.txt';
const OTHER = 'other.bin';

const urlOf = ({ pathname, search }: URL) => pathname + search;

/** Returns the URL to which the service redirects requests for a file; the root of the service if it does not. */
async function signedBy({ port }: TestService, path: string, query = ''): Promise<URL> {
  const requested = `/file/${escapePath(path)}${query}`;
  const { status, headers } = await send(port, requested);
  return new URL(status === 302 ? String(headers.location) : '/', `http://127.0.0.1:${port}${requested}`);
}
