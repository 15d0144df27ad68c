import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type Owner, temporaryFolder } from '../../testing/holdall.ts';
import type { Need } from '../runner/needs.ts';
import { PASSWORD, startDav, USER } from './dav-service.ts';

export const needs: readonly Need[] = ['curl'];

const CONTENT = Buffer.alloc(300_000, 'content of a file ');

describe('curl', () => {
  it('uploads files, reads ranges, and changes files on conditions', async (t) => {
    const { url, root } = await startDav(t, { basePath: '/our/files' });
    const { curl, folder } = await startCurl(t);
    const [local, received] = [join(folder, 'local'), join(folder, 'received')];
    await writeFile(local, CONTENT);
    const target = `${url}curl%20%23%25.bin`;
    const stored = join(root, 'curl #%.bin');

    await t.test('uploads a file after the challenge of the service', async () => {
      const { status, headers } = await curl('--anyauth', '--upload-file', local, target);
      assert.equal(status, 201);
      assert.ok((await readFile(stored)).equals(CONTENT));
      assert.match(headers['etag'] ?? '', /^"[^"]+"$/);
    });

    await t.test('uploads standard input in chunks, and waits for 100 Continue', async () => {
      const expect = ['--header', 'Expect: 100-continue', '--expect100-timeout', '60'];
      const { status } = await curl(...expect, '--upload-file', '-', target);
      assert.equal(status, 204);
      assert.equal(await readFile(stored, 'utf8'), '');
      assert.equal((await curl('--upload-file', local, target)).status, 204);
    });

    await t.test('reads ranges and resumes a download', async () => {
      assert.equal((await curl('--range', '11-16', '--output', received, target)).status, 206);
      assert.equal(await readFile(received, 'utf8'), 'a file');
      assert.equal((await curl('--range', '-3', '--output', received, target)).status, 206);
      assert.ok((await readFile(received)).equals(CONTENT.subarray(-3)));
      await writeFile(received, CONTENT.subarray(0, 100_000));
      assert.equal((await curl('--continue-at', '-', '--output', received, target)).status, 206);
      assert.ok((await readFile(received)).equals(CONTENT));
      assert.equal((await curl('--range', '300000-', '--output', received, target)).status, 416);
    });

    await t.test('is refused to resume an upload, because a PUT replaces the whole file', async () => {
      assert.equal((await curl('--continue-at', '100000', '--upload-file', local, target)).status, 400);
      assert.ok((await readFile(stored)).equals(CONTENT));
    });

    await t.test('changes and deletes a file only if its ETag is the given one', async () => {
      const { headers } = await curl('--head', target);
      const { etag = '' } = headers;
      const other = ['--header', 'If-Match: "other"'];
      const same = ['--header', `If-Match: ${etag}`];
      assert.equal((await curl(...other, '--upload-file', local, target)).status, 412);
      assert.equal((await curl('--header', 'If-None-Match: *', '--upload-file', local, target)).status, 412);
      assert.equal((await curl(...other, '--request', 'DELETE', target)).status, 412);
      assert.equal((await curl('--header', `If-None-Match: ${etag}`, '--output', received, target)).status, 304);
      await writeFile(local, 'new content');
      const replaced = await curl(...same, '--upload-file', local, target);
      assert.equal(replaced.status, 204);
      assert.notEqual(replaced.headers['etag'], etag);
      assert.equal((await curl(...same, '--request', 'DELETE', target)).status, 412);
      assert.equal(await readFile(stored, 'utf8'), 'new content');
      const now = ['--header', `If-Match: ${replaced.headers['etag']}`];
      assert.equal((await curl(...now, '--request', 'DELETE', target)).status, 204);
      assert.equal((await curl('--head', target)).status, 404);
    });
  });
});

/** What curl received. */
interface Received {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

async function startCurl(t: Owner) {
  const folder = await temporaryFolder(t);
  const curl = async (...args: string[]): Promise<Received> => {
    const fixed = [
      '--silent',
      '--show-error',
      '--user',
      `${USER}:${PASSWORD}`,
      '--dump-header',
      join(folder, 'headers'),
    ];
    const output = args.includes('--output') ? [] : ['--output', '/dev/null'];
    const running = promisify(execFile)('curl', [...fixed, ...output, ...args]);
    running.child.stdin?.end();
    await running;
    const blocks = (await readFile(join(folder, 'headers'), 'utf8')).trim().split('\r\n\r\n');
    const [first = '', ...lines] = blocks.at(-1)?.split('\r\n') ?? [];
    const headers = lines
      .map((line) => /^([^:]+): (.*)$/.exec(line))
      .map((found) => [found?.[1]?.toLowerCase(), found?.[2]]);
    return { status: Number(first.split(' ')[1]), headers: Object.fromEntries(headers) };
  };
  return { curl, folder };
}
