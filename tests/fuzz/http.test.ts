import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import * as fc from 'fast-check';
import { BOUNDARY, formOf, type HttpResponse, jsonOf } from '../http/client.ts';
import { tries } from '../seeds.ts';
import type { Tree } from './acknowledged.ts';
import { assertCommonHeaders, assertEnvelope } from './document.ts';
import { mutated } from './mutations.ts';
import { shareOnDisk, startOnDisk, type Target } from './target.ts';
import { exchange } from './wire.ts';

const INITIAL: Tree = { 'a.txt': 'a', 'f/': null, 'f/b.txt': 'b' };

const BODY = '{"path":"made"}';
const CREATE_FOLDER = `POST /create_folder HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

/** A valid body of five bytes, and the same body as a chunk. */
const PLAIN = '{   }';
const CHUNKED = `5\r\n${PLAIN}\r\n0\r\n\r\n`;

/** Returns a request with this framing, followed by another request that the service must not process. */
const withHiddenRequest = (headers: string, body = /chunked/.test(headers) ? CHUNKED : PLAIN, version = 'HTTP/1.1') =>
  `POST /create_folder ${version}\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}${CREATE_FOLDER}`;

/** Ambiguous framing: RFC 9112, sections 5, 6 and 7. */
const AMBIGUOUS: Readonly<Record<string, string>> = {
  'a length and chunks': withHiddenRequest('Content-Length: 5\r\nTransfer-Encoding: chunked'),
  'chunks and a length': withHiddenRequest('Transfer-Encoding: chunked\r\nContent-Length: 5'),
  'two lengths': withHiddenRequest('Content-Length: 0\r\nContent-Length: 5'),
  'two equal lengths': withHiddenRequest('Content-Length: 5\r\nContent-Length: 5'),
  'a list of lengths': withHiddenRequest('Content-Length: 5, 5'),
  'a length with a sign': withHiddenRequest('Content-Length: +5'),
  'a negative length': withHiddenRequest('Content-Length: -5'),
  'a hexadecimal length': withHiddenRequest('Content-Length: 0x5'),
  'a length with an exponent': withHiddenRequest('Content-Length: 5e0'),
  'a length of two numbers': withHiddenRequest('Content-Length: 5 5'),
  'a length of 64 bits and more': withHiddenRequest('Content-Length: 18446744073709551621'),
  'an empty length': withHiddenRequest('Content-Length: '),
  'a coding that is not the last': withHiddenRequest('Transfer-Encoding: chunked, identity'),
  'two codings': withHiddenRequest('Transfer-Encoding: chunked\r\nTransfer-Encoding: identity'),
  'an unknown coding': withHiddenRequest('Transfer-Encoding: xchunked'),
  'a coding in quotes': withHiddenRequest('Transfer-Encoding: "chunked"'),
  'a coding behind a vertical tab': withHiddenRequest('Transfer-Encoding: \x0bchunked'),
  'a space before the colon': withHiddenRequest('Transfer-Encoding : chunked'),
  'a tab before the colon': withHiddenRequest('Content-Length\t: 5'),
  'a folded header': withHiddenRequest('X: a\r\n Transfer-Encoding: chunked'),
  'a folded coding': withHiddenRequest('Transfer-Encoding:\r\n chunked'),
  'a bare LF in the head': withHiddenRequest('X: a\nTransfer-Encoding: chunked'),
  'a bare CR in the head': withHiddenRequest('X: a\rTransfer-Encoding: chunked'),
  'a NUL in a header': withHiddenRequest('X: a\0\r\nTransfer-Encoding: chunked'),
  'a header without a colon': withHiddenRequest('Transfer-Encoding chunked'),
  'a chunk of 64 bits and more': withHiddenRequest('Transfer-Encoding: chunked', 'FFFFFFFFFFFFFFFFF\r\n'),
  'a negative chunk': withHiddenRequest('Transfer-Encoding: chunked', '-1\r\n'),
  'a chunk with 0x': withHiddenRequest('Transfer-Encoding: chunked', '0x0\r\n\r\n'),
  'a chunk with a space before it': withHiddenRequest('Transfer-Encoding: chunked', ' 0\r\n\r\n'),
  'a chunk size that ends with LF': withHiddenRequest('Transfer-Encoding: chunked', '2\n{}\r\n0\r\n\r\n'),
  'a chunk that ends with LF': withHiddenRequest('Transfer-Encoding: chunked', '2\r\n{}\n0\r\n\r\n'),
  'a chunk that is longer than its size': withHiddenRequest('Transfer-Encoding: chunked', '1\r\n{}\r\n0\r\n\r\n'),
  'an extension with LF': withHiddenRequest('Transfer-Encoding: chunked', '2;a=b\n\r\n{}\r\n0\r\n\r\n'),
  'chunks in HTTP/1.0': withHiddenRequest('Transfer-Encoding: chunked', CHUNKED, 'HTTP/1.0'),
};

test('rejects an ambiguous request, closes the connection and processes no second request', async (t) => {
  const target = await shareOnDisk();
  await target.restore(INITIAL);
  for (const framing of ['Transfer-Encoding: chunked', 'Content-Length: 5']) {
    const two = await exchange(target.port, withHiddenRequest(framing), { responses: 2 });
    const statuses = two.map(({ status }) => status);
    assert.deepEqual(statuses, [400, 200], 'After a valid request, the second one is processed.');
    await target.restore(INITIAL);
  }
  for (const [what, bytes] of Object.entries(AMBIGUOUS)) {
    await t.test(what, async () => {
      const responses = await exchange(target.port, bytes, { responses: 2 });
      assert.deepEqual(
        responses.map(({ status }) => status),
        [400],
      );
      assertResponses(responses);
      assert.deepEqual(await target.tree(), INITIAL);
    });
  }
  await target.assertHealthy();
});

const upload = (name: string, text: string) => {
  const form = formOf([{ name: 'file', filename: name, value: text }]).toString('latin1');
  return `POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=${BOUNDARY}\r\nContent-Length: ${form.length}\r\n\r\n${form}`;
};

/** Requests that store a file, and requests that change nothing. `ending` has what closes a connection. */
const chunk = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.nat({ max: 9 }).map((number) => ({ stores: `${number}`, bytes: upload(`${number}`, `${number}`) })),
  },
  {
    weight: 3,
    arbitrary: fc
      .constantFrom(
        'GET /file/a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n',
        'GET /?limit=1 HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\n\r\n',
        'DELETE /delete/missing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nGET /',
        'OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n',
        '\r\n\r\nPOST /copy HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n2;a="b"\r\n{}\r\n0\r\nX: y\r\n\r\n',
      )
      .map((bytes) => ({ stores: undefined, bytes })),
  },
);
const ending = fc.constantFrom(
  'garbage\r\n\r\n',
  ' \r\n\r\n',
  'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  '\0',
  'GET / HTTP/1.1\r\nHost : x\r\n\r\n',
  'GET / HTTP/3.0\r\n\r\n',
  'CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n',
  'GET /\nHost: x\n\n',
  'POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n',
  `GET /${'x'.repeat(20_000)}`,
);

test('returns pipelined responses in order, also when a later request closes the connection', async (t) => {
  const target = await shareOnDisk();
  await fc.assert(
    fc.asyncProperty(fc.array(chunk, { maxLength: 5 }), ending, async (chunks, end) => {
      await target.restore(INITIAL);
      const responses = await exchange(target.port, chunks.map(({ bytes }) => bytes).join('') + end, { responses: 99 });
      assertResponses(responses);
      assert.equal(responses.length, chunks.length + 1);
      const stored = responses
        .filter(({ body }) => body.includes('uploaded'))
        .map((response) => jsonOf(response)['path']);
      assert.deepEqual(
        stored,
        chunks.flatMap(({ stores }) => stores ?? []),
      );
      assert.ok([400, 431, 501].includes(responses.at(-1)?.status ?? 0));
      const expected = { ...INITIAL, ...Object.fromEntries(stored.map((path) => [path, path])) };
      assert.deepEqual(await target.tree(), expected);
    }),
    tries(t, 6),
  );
  await target.assertHealthy();
});

/** Valid requests, which are then changed. */
const VALID: readonly string[] = [
  CREATE_FOLDER,
  upload('up', 'the text of a file'),
  `POST /upload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Type: multipart/form-data; boundary=b\r\n\r\n34\r\n--b\r\nContent-Disposition: form-data; name="file"; filena\r\n1c\r\nme="chunked"\r\n\r\ntext\r\n--b--\r\n\r\n0\r\n\r\n`,
  'GET /file/f/b.txt?download=1 HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-0\r\nIf-None-Match: "x"\r\nAccept: */*\r\n\r\n',
  'GET /f/?limit=1&cursor=x HTTP/1.1\r\nHost: localhost\r\nAccept: text/html, application/json;q=0.5\r\nCookie: a=b\r\n\r\n',
  'HEAD http://localhost/thumb/a.txt HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: id\r\nExpect: 100-continue\r\n\r\n',
  'POST /delete_folder/f HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\nAccept: application/x-ndjson\r\n\r\n',
];

/** Replacements in a request. */
const TOKENS = [
  '\r\n',
  '\n',
  '\r',
  '\r\n\r\n',
  '\0',
  ' ',
  '\t',
  ':',
  ';',
  '"',
  '%',
  '%ff',
  '..',
  '/',
  '\xff',
  '\x7f',
  '--',
  '--b',
  '0\r\n\r\n',
  'HTTP/1.0',
  'HTTP/0.9',
  'HTTP/2.0',
  'Host: x\r\n',
  'Content-Length: 0\r\n',
  'Transfer-Encoding: chunked\r\n',
  'Connection: close\r\n',
  'Upgrade: websocket\r\nConnection: upgrade\r\n',
  'Expect: 100-continue\r\n',
  '9'.repeat(30),
  'ffffffffffffffffff',
  'x'.repeat(17_000),
];

const almost = mutated(fc.constantFrom(...VALID), TOKENS);

/** Concurrent connections. Many of them only wait for a timeout. */
const AT_ONCE = 120;

test('almost valid requests return a standard error or do only what they acknowledge: on disk', async (t) => {
  await fuzzBytes(t, await startOnDisk(t, { hasShortTimeouts: true }), 1);
});

async function fuzzBytes(t: TestContext, target: Target, runs: number): Promise<void> {
  const batch = fc.array(almost, { minLength: AT_ONCE, maxLength: AT_ONCE });
  const property = fc.asyncProperty(batch, async (all) => {
    await target.restore(INITIAL);
    const responses = await Promise.all(all.map((bytes) => exchange(target.port, bytes)));
    for (const [index, some] of responses.entries()) assertResponses(some, all[index]);
    const problem = unacknowledged(await target.tree(), responses.flat(), all);
    assert.equal(problem, undefined, `${problem} ${JSON.stringify(all)}`);
  });
  await fc.assert(property, { ...tries(t, runs), endOnFailure: true });
  await target.assertHealthy();
}

/** Returns a description of a change without a response that acknowledges it, or of content that no client has sent. */
function unacknowledged(tree: Tree, responses: readonly HttpResponse[], sent: readonly string[]): string | undefined {
  const acknowledged = responses.filter(({ status }) => status === 200).map(({ body }) => body.toString());
  const isAcknowledged = (message: string) => acknowledged.some((body) => body.includes(message));
  const uploaded = acknowledged
    .filter((body) => body.includes('File uploaded'))
    .map((body) => String(JSON.parse(body).path));
  const above = (path: string) => uploaded.some((each) => each.startsWith(path));
  for (const [path, text] of Object.entries(tree)) {
    if (INITIAL[path] === text) continue;
    if (text === null && !above(path) && !isAcknowledged('Folder created')) return `${path} is made.`;
    if (text === null) continue;
    if (!uploaded.includes(path)) return `${path} is stored.`;
    if (!sent.some((bytes) => bytes.includes(text))) return `${path} holds ${text}.`;
  }
  const gone = Object.keys(INITIAL).filter((path) => !Object.hasOwn(tree, path));
  if (gone.length > 0 && !isAcknowledged('Folder deleted')) return `${gone.join(', ')} is gone.`;
  const lost = uploaded.find((path) => !Object.hasOwn(tree, path) && !isAcknowledged('Folder deleted'));
  return lost === undefined ? undefined : `${lost} is lost.`;
}

function assertResponses(responses: readonly HttpResponse[], bytes?: string): void {
  for (const response of responses) {
    try {
      assertCommonHeaders(response);
      if (response.status >= 400 && !String(response.headers['content-type']).startsWith('text/html'))
        assertEnvelope(response);
    } catch (error) {
      throw new Error(`To ${JSON.stringify(bytes)}: ${JSON.stringify(response)}`, { cause: error });
    }
  }
}
