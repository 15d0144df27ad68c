import assert from 'node:assert/strict';
import { createReadStream, statfsSync } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { get, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { type Owner, startHoldall } from '../../testing/holdall.ts';
import { createManyFiles, entryName } from '../../testing/many-files.ts';
import { assertSuccess, send, upload } from '../http/client.ts';
import { canMeasurePeakMemory, MAX_MEMORY_GROWTH_BYTES, memoryOf, resetPeakMemory } from '../process/memory.ts';
import { untilNoTemporaryFiles } from '../process/temporary-files.ts';
import { ORDERS, type Order, openDownload, openUpload, signedPath } from '../process/transfers.ts';
import { assertPattern, block, MIB } from './pattern.ts';

const GIB = 1024 * MIB;

/** Tests that transfers of `size` bytes, a multiple of 1 MiB, don't increase the memory of a service with a disk. */
export function testDiskTransfers(size: number): void {
  it(`keeps the memory of the service flat while ${size / MIB} MiB are transferred to and from a disk`, {
    skip: skipWithoutPeaks() || skipWithoutSpace(3 * size),
  }, async (t) => {
    const { pid, port, root } = await startHoldall(t, { settings: { LOG_LEVEL: 'info' } });
    await upload(port, 'small', Buffer.alloc(MIB));
    await send(port, '/file/small');
    const assertFlat = await memoryWatch(pid);

    for (const order of ORDERS) {
      await t.test(`by an upload with the ${order}`, async () => {
        await rm(join(root, 'large'), { force: true });
        await resetPeakMemory(pid);
        await uploadPattern(port, 'large', order, size);
        await assertFlat();
        assert.equal((await stat(join(root, 'large'))).size, size);
        await assertPattern(createReadStream(join(root, 'large'), { highWaterMark: MIB }), 0, size);
        await untilNoTemporaryFiles(root);
      });
    }

    await t.test('by a range request', async () => {
      await resetPeakMemory(pid);
      const [start, length] = [12_345, size - 2 * MIB];
      const range = { range: `bytes=${start}-${start + length - 1}` };
      const download = await openDownload(port, await signedPath(port, 'large'), range);
      assert.equal(download.statusCode, 206);
      assert.equal(download.headers['content-range'], `bytes ${start}-${start + length - 1}/${size}`);
      assert.equal(download.headers['content-length'], String(length));
      await assertPattern(download, start, length);
      await assertFlat();
    });
  });
}

/** Tests that the response to a PROPFIND of `count` files is streamed: no page of it stays in memory. */
export function testPropfind(count: number): void {
  it(`keeps the memory of the service flat while a WebDAV client lists ${count} files`, {
    skip: skipWithoutPeaks(),
  }, async (t) => {
    const { pid, port, root } = await startHoldall(t);
    for (const [folder, files] of [
      ['few', 2000],
      ['many', count],
    ] as const) {
      await mkdir(join(root, folder));
      createManyFiles(join(root, folder), files);
    }
    assert.deepEqual(await listByWebdav(port, 'few'), new Set(namesOf(2000)));
    const assertFlat = await memoryWatch(pid);
    await resetPeakMemory(pid);
    assert.deepEqual(await listByWebdav(port, 'many'), new Set(namesOf(count)));
    await assertFlat();
  });
}

const namesOf = (count: number) => Array.from({ length: count }, (_, index) => entryName(index + 1));

/** Lists a folder with all properties. Returns the names of its files. */
async function listByWebdav(port: number, folder: string): Promise<Set<string>> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const path = `/-/dav/${folder}/`;
    request({ host: '127.0.0.1', port, path, method: 'PROPFIND', headers: { depth: '1' } }, resolve)
      .once('error', reject)
      .end();
  });
  assert.equal(response.statusCode, 207);
  const names = new Set<string>();
  let rest = '';
  for await (const text of response.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + text).split('<D:href>');
    rest = lines.pop() ?? '';
    for (const line of lines) names.add(nameIn(line));
  }
  names.add(nameIn(rest));
  assert.match(rest, /<\/D:multistatus>\s*$/);
  names.delete('');
  return names;
}

/** Returns the last segment of a URL path, before the end of its element; empty for a folder. */
const nameIn = (text: string) => decodeURIComponent(/^\/[^<]*\/([^/<]*)<\/D:href>/.exec(text)?.[1] ?? '');

/** A remote store for a test: the settings of a service on it. */
type OpenStore = (t: Owner) => Promise<Readonly<Record<string, string>>>;

export interface RemoteUploads {
  readonly size: number;
  /** The orders of the form parts. Default: both. */
  readonly orders?: readonly Order[];
  readonly open: OpenStore;
}

/** Tests that uploads of `size` bytes don't increase the memory of a service with a remote store. */
export function testRemoteUploads(store: string, { size, orders = ORDERS, open }: RemoteUploads): void {
  const amount = `${Math.floor(size / MIB)} MiB`;
  it(`keeps the memory of the service flat while ${amount} are uploaded to ${store}`, {
    skip: skipWithoutPeaks(),
  }, async (t) => {
    const { pid, port } = await startHoldall(t, { settings: await open(t) });
    await upload(port, 'small', Buffer.alloc(9 * MIB));
    await send(port, '/');
    const assertFlat = await memoryWatch(pid);

    for (const order of orders) {
      await t.test(`with the ${order}`, async () => {
        await resetPeakMemory(pid);
        await uploadPattern(port, `f/${order}`, order, size);
        await assertFlat();
        const { headers } = await send(port, `/file/f/${encodeURIComponent(order)}`);
        const stored = await new Promise<IncomingMessage>((resolve, reject) => {
          get(headers.location ?? '', resolve).once('error', reject);
        });
        await assertPattern(stored, 0, size);
      });
    }
  });
}

/** Returns a function that asserts that the peak memory of the idle process `pid` has stayed close to its present memory. */
async function memoryWatch(pid: number): Promise<() => Promise<void>> {
  const idle = await memoryOf(pid, 'VmRSS');
  return async () => {
    const peak = await memoryOf(pid, 'VmHWM');
    assert.ok(peak - idle < MAX_MEMORY_GROWTH_BYTES, `It grew from ${idle} to ${peak} bytes.`);
  };
}

async function uploadPattern(port: number, path: string, order: Order, size: number): Promise<void> {
  const opened = await openUpload(port, path, order);
  for (let sent = 0; sent < size; sent += MIB) await opened.send(block(sent / MIB).subarray(0, size - sent));
  assertSuccess(await opened.finish(), { message: 'File uploaded successfully', path });
}

function skipWithoutPeaks(): string | false {
  return !canMeasurePeakMemory() && 'only /proc on Linux has the peak memory of a process';
}

function skipWithoutSpace(bytes: number): string | false {
  const { bavail, bsize } = statfsSync(tmpdir());
  const required = Math.ceil(bytes / GIB);
  const free = Math.floor((bavail * bsize) / GIB);
  return free < required && `${tmpdir()} has ${free} GiB of free space, and the test needs ${required} GiB`;
}
