import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { createToken } from '../../src/access/credentials.ts';
import { isError, temporaryFolder } from '../../testing/holdall.ts';
import { hashForTest } from '../../testing/passwords.ts';
import { startInProcess } from '../../testing/service.ts';
import {
  assertFailure,
  BOUNDARY,
  formOf,
  type HttpResponse,
  postBytes,
  postForm,
  postJson,
  responseOf,
  send,
  sendBytes,
  within,
} from '../http/client.ts';
import { sessionCookieOf } from '../http/sign-in/browser.ts';

const KIBIBYTE = 1024;
/** More than any limit. */
const MEGABYTES = 2 * 1024 * KIBIBYTE;

it('rejects oversized input at low cost and stays available', async (t) => {
  const password = 'a password of the usual size';
  const { token, hash } = createToken();
  const access = {
    people: { ann: { password: hashForTest(password), tokens: [{ name: 'laptop', hash }] } },
    grants: [{ folder: '/', to: { person: 'ann' }, rights: ['read', 'write', 'manage'] }],
  };
  const file = join(await temporaryFolder(t), 'access.json');
  await writeFile(file, JSON.stringify(access));
  const { port, log } = await startInProcess(t, { settings: { ACCESS_FILE: file, RATE_LIMIT: '0' } });
  const bearer = { authorization: `Bearer ${token}` };
  const json = { ...bearer, 'content-type': 'application/json' };
  const signIn = (name: string, given: string) => postJson(port, '/-/session', { name, password: given });
  const basic = (name: string, given: string) =>
    send(port, '/', { headers: { authorization: `Basic ${Buffer.from(`${name}:${given}`).toString('base64')}` } });
  const [sessionCookie] = sessionCookieOf(await signIn('ann', password)).split('=');
  assert.equal((await basic('ann', password)).status, 200);

  await t.test('rejects oversized passwords and usernames', async () => {
    await assertRejectedOrClosed(signIn('ann', 'x'.repeat(MEGABYTES)), 413);
    await assertRejectedOrClosed(signIn('x'.repeat(MEGABYTES), password), 413);
    assertFailure(await signIn('ann', 'x'.repeat(60 * KIBIBYTE)), 400, /longer than 1024 bytes/);
    assertFailure(await signIn('ann', 'é'.repeat(513)), 400, /longer than 1024 bytes/);
    assertFailure(await signIn('x'.repeat(60 * KIBIBYTE), password), 401, /Wrong username or password/);
    assertFailure(await basic('ann', 'x'.repeat(8 * KIBIBYTE)), 400, /longer than 1024 bytes/);
    for (const [name, given] of [
      ['ann', 'x'.repeat(MEGABYTES)],
      ['x'.repeat(MEGABYTES), 'x'],
    ] as const) {
      const authorization = `Basic ${Buffer.from(`${name}:${given}`).toString('base64')}`;
      await assertRejectedOrClosed(headOf(port, [`Authorization: ${authorization}`]), 431);
    }
  });

  await t.test('rejects deeply nested JSON', async () => {
    const depth = 30 * KIBIBYTE;
    const nested = '['.repeat(depth) + ']'.repeat(depth);
    const objects = '{"a":'.repeat(10 * KIBIBYTE) + '1' + '}'.repeat(10 * KIBIBYTE);
    const bodies = [
      '['.repeat(64 * KIBIBYTE),
      '{"a":'.repeat(12 * KIBIBYTE),
      nested,
      objects,
      ...[nested, objects].flatMap((deep) => [
        `{"path":${deep}}`,
        `{"name":"ann","password":${deep}}`,
        `{"source":"a","destination":${deep},"is_folder":false}`,
        `{"newName":"a","overwrite":${deep}}`,
        `{"source":"a","destination":"b","is_folder":false,"more":${deep},"__proto__":1}`,
      ]),
      `{"path":"a","a":${'9'.repeat(60_000)}}`,
      `{${'"path":"a",'.repeat(5000)}"path":1}`,
      '"'.repeat(60_000),
    ];
    for (const body of bodies) {
      for (const path of ['/create_folder', '/copy', '/rename/a', '/-/session']) {
        const response = await send(port, path, { method: 'POST', headers: json, body });
        assert.ok(
          [400, 404, 200].includes(response.status),
          `${path} ${body.slice(0, 60)}: ${response.status} ${response.body.toString().slice(0, 300)}`,
        );
        assert.ok(response.body.length < 8 * KIBIBYTE, 'The response does not contain the whole invalid value.');
      }
    }
    for (const path of ['/create_folder', '/-/session']) {
      await assertRejectedOrClosed(
        send(port, path, { method: 'POST', headers: json, body: ' '.repeat(MEGABYTES) }),
        413,
      );
    }
  });

  await t.test('returns 415 for compressed request bodies', async () => {
    const bomb = gzipSync(Buffer.alloc(MEGABYTES));
    for (const coding of ['gzip', 'deflate', 'br', 'zstd', 'gzip, gzip', 'x-gzip']) {
      for (const [path, type] of [
        ['/create_folder', 'application/json'],
        ['/-/session', 'application/json'],
        ['/upload', `multipart/form-data; boundary=${BOUNDARY}`],
      ] as const) {
        const headers = { ...bearer, 'content-type': type, 'content-encoding': coding };
        assert.equal(
          (await send(port, path, { method: 'POST', headers, body: bomb })).status,
          415,
          `${path} ${coding}`,
        );
      }
    }
  });

  await t.test('returns 431 for too many headers', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `h${index}: v`);
    assert.equal((await headOf(port, [`Authorization: Bearer ${token}`, ...many(150)])).status, 200);
    assertFailure(await headOf(port, many(1000)), 431, /headers/);
    assertFailure(await headOf(port, many(2000)), 431, /larger than 16 KiB|headers/);
    assertFailure(
      await headOf(
        port,
        Array.from({ length: 2000 }, () => 'a:'),
      ),
      431,
      /2003 headers|headers/,
    );
    assertFailure(await headOf(port, [`h: ${'v'.repeat(16 * KIBIBYTE)}`]), 431, /larger than 16 KiB/);
    assertFailure(await headOf(port, [`${'h'.repeat(16 * KIBIBYTE)}: v`]), 431, /larger than 16 KiB/);
    assertFailure(await headOf(port, ['Authorization: Bearer', ` ${token}`]), 400, /not valid HTTP/);
    assertFailure(await headOf(port, [`X: a\n Authorization: Bearer ${token}`]), 400, /not valid HTTP/);
    assertFailure(await headOf(port, [], `/${'x'.repeat(16 * KIBIBYTE)}`), 431, /larger than 16 KiB/);
    const chunked = [`Authorization: Bearer ${token}`, 'Content-Type: application/json', 'Transfer-Encoding: chunked'];
    const trailers = many(20_000).join('\r\n');
    for (const [body, status] of [
      [`2\r\n{}\r\n0\r\n${trailers}\r\n\r\n`, 431],
      [`2;${'x'.repeat(64 * KIBIBYTE)}\r\n{}\r\n0\r\n\r\n`, 400],
    ] as const)
      await assertRejectedOrClosed(headOf(port, chunked, '/create_folder', { method: 'POST', body }), status);
  });

  await t.test('parses adversarial header values in bounded time', async () => {
    const spaces = ' '.repeat(15 * KIBIBYTE);
    const slow = [
      `Authorization: Bearer x${spaces}y`,
      `Authorization: Basic x${spaces}y`,
      `Authorization: x${spaces}y`,
      `Cookie: ${sessionCookie}=x${spaces}y`,
      `Cookie: ${`${sessionCookie}=;`.repeat(800)}`,
      `Cookie: ${'='.repeat(15_000)}`,
      `Accept: ${'text/html;'.repeat(1500)}`,
      `Accept: ${'*/*,'.repeat(3800)}`,
      `Accept: a${spaces}b`,
      `Range: bytes=${'0-,'.repeat(5000)}`,
      `Range: bytes=${spaces}x`,
      `If-None-Match: ${'"'.repeat(15_000)}x`,
      `If-None-Match: ${'W/"",'.repeat(3000)}`,
      `If-Match: "${spaces}x`,
      `Prefer: "${'\\a'.repeat(7500)}`,
      `Prefer: ${'","'.repeat(5000)}`,
      `Content-Type: multipart/form-data;${spaces};${' ;'.repeat(100)}x`,
      `X-Request-Id: ${'a'.repeat(15_000)}`,
      `Origin: http://${'a.'.repeat(7000)}`,
      `X-Forwarded-For: ${'1,'.repeat(7500)}`,
      `Accept-Encoding: ${'gzip;q=0.1,'.repeat(1300)}`,
      `If-Modified-Since: ${spaces}x`,
      `Expect: ${spaces}x`,
    ];
    await postForm(port, [{ name: 'file', filename: 'a.txt', value: 'a' }], bearer);
    const requesting = async () => {
      for (const line of slow) {
        const own = line.startsWith('Authorization') ? [] : [`Authorization: Bearer ${token}`];
        const heads = Array.from({ length: 5 }, () => headOf(port, [...own, line], '/file/a.txt'));
        for (const { status } of await Promise.all(heads)) assert.ok(status < 500, `${line.slice(0, 60)}: ${status}`);
      }
    };
    await within('many requests', requesting());
  });

  await t.test('rejects a form with too many parts or an endless part', async () => {
    const field = { name: 'x', value: 'x' };
    const good = { name: 'file', filename: 'a.txt', value: 'a' };
    assert.equal((await postForm(port, [...Array.from({ length: 90 }, () => field), good], bearer)).status, 200);
    const many = Array.from({ length: 1000 }, () => field);
    assertFailure(await postForm(port, [...many, good], bearer), 400, /more than 100 parts/);
    const endless = [
      [{ name: 'endless', value: Buffer.alloc(MEGABYTES, 'x') }, 413],
      [{ name: 'prefix', value: 'x/'.repeat(MEGABYTES / 2) }, 400],
      [{ ...good, filename: 'x'.repeat(60 * KIBIBYTE) }, 400],
      [{ ...good, filename: 'x'.repeat(MEGABYTES) }, 400],
    ] as const;
    for (const [part, status] of endless) await assertRejectedOrClosed(postForm(port, [part, good], bearer), status);
    // The service parses forms of anonymous users, too.
    const spaces = ' '.repeat(15 * KIBIBYTE);
    for (const disposition of [
      `name="x"${spaces}x`,
      `name="x";${spaces}x`,
      `name=x${spaces};${spaces.slice(1000)}`,
      ';a="'.repeat(3000),
      'a=;'.repeat(5000),
    ]) {
      const part = `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n\r\nx\r\n`;
      const form = Buffer.from(`${part.repeat(90)}--${BOUNDARY}--\r\n`, 'latin1');
      const forms = Promise.all(Array.from({ length: 5 }, () => postBytes(port, form)));
      for (const { status } of await within('forms of odd headers', forms)) {
        assert.ok(status >= 400 && status < 500, `${disposition.slice(0, 40)}: ${status}`);
      }
    }
    const truncated = formOf([good]).subarray(0, -20);
    assertFailure(await postBytes(port, truncated, bearer), 400, /ends in the middle/);
  });

  await t.test('continues to serve requests afterwards', async () => {
    const listing = await send(port, '/', { headers: bearer });
    assert.equal(listing.status, 200);
    assert.deepEqual(log.filter(isError), [], 'The service had no fault.');
  });
});

/**
 * Asserts that the request is rejected or the connection closed: a client that keeps sending may be unable to read the
 * response.
 */
async function assertRejectedOrClosed(sent: Promise<HttpResponse>, status: number): Promise<void> {
  try {
    assert.equal((await sent).status, status);
  } catch (error) {
    const isReset =
      error instanceof Error && 'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
    if (!isReset) throw error;
  }
}

/** Sends a request with these raw header lines. */
async function headOf(
  port: number,
  lines: readonly string[],
  path = '/',
  { method = 'GET', body = '' } = {},
): Promise<HttpResponse> {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: localhost', 'Connection: close', ...lines];
  return responseOf(await sendBytes(port, `${head.join('\r\n')}\r\n\r\n${body}`));
}
