import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { it } from 'node:test';
import { promisify } from 'node:util';
import { atEnd, type Owner, startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { assertSuccess, postForm, send } from '../http/client.ts';

const run = promisify(execFile);

const MIB = 2 ** 20;

export interface Interruptions {
  /** How often the connection is lost. */
  readonly count: number;
  /** Bytes of each of three large files, and the number of small files. */
  readonly largeBytes: number;
  readonly smallFiles: number;
  /** Returns the settings of a service on an empty store. Default: on a disk. */
  readonly open?: (t: Owner) => Promise<Readonly<Record<string, string>>>;
}

/** Tests that `curl -C -` completes an archive after lost connections, from any process. */
export function testInterruptedDownloads(store: string, options: Interruptions): void {
  const { count, largeBytes, smallFiles, open } = options;
  it(`resumes a ZIP download with curl after ${count} lost connections, with the same bytes, from ${store}`, async (t) => {
    const folder = await temporaryFolder(t);
    const settings = { SIGNING_KEY: 'k'.repeat(32), ...(await open?.(t)) };
    const service = await startInProcess(t, { settings });
    const other = await startHoldall(t, { root: service.root, settings });
    for (let index = 0; index < 3; index++) await put(service.port, `f/large ${index}`, randomBytes(largeBytes));
    for (let index = 0; index < smallFiles; index++) {
      await put(service.port, `f/${index % 7}/ü ${index}`, randomBytes(index * 37));
    }
    const whole = await send(service.port, '/-/zip/f/');
    assert.equal(whole.status, 200);

    const size = whole.body.length;
    const proxy = await startCuttingProxy(t, [service.port, other.port]);
    const file = join(folder, 'f.zip');
    const curl = () =>
      run('curl', [
        '--silent',
        '--fail',
        '--continue-at',
        '-',
        '--output',
        file,
        `http://127.0.0.1:${proxy.port}/-/zip/f/`,
      ]);
    let rest = size;
    for (let lost = 0; lost < count && rest > size * 0.05; lost++) {
      // At random, but before the end: the last request completes the archive.
      const longest = 0.9 * Math.min(rest, (2 * size) / (count + 1));
      proxy.cutAfter(1000 + Math.floor(Math.random() * longest));
      await assert.rejects(curl(), { code: 18 });
      rest = size - (await readFile(file)).length;
    }
    proxy.cutAfter(Number.POSITIVE_INFINITY);
    await curl();
    assert.ok((await readFile(file)).equals(whole.body), 'the bytes are the same');
    await run('unzip', ['-tqq', file]);
  });
}

async function put(port: number, path: string, value: Buffer): Promise<void> {
  const slash = path.lastIndexOf('/') + 1;
  const response = await postForm(port, [
    { name: 'prefix', value: path.slice(0, slash) },
    { name: 'file', filename: path.slice(slash), value },
  ]);
  assertSuccess(response, { message: 'File uploaded successfully', path });
}

/** Starts a proxy that closes each connection after a number of bytes from a service: one after the other. */
async function startCuttingProxy(t: Owner, ports: readonly number[]) {
  let limit = Number.POSITIVE_INFINITY;
  let connections = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(ports[connections++ % ports.length]), '127.0.0.1');
    let remaining = limit;
    const close = () => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) socket.on('error', close).on('close', close);
    client.pipe(upstream);
    upstream.on('data', (bytes: Buffer) => {
      const part = bytes.subarray(0, remaining);
      remaining -= part.length;
      upstream.pause();
      client.write(part, () => (remaining > 0 ? upstream.resume() : close()));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(t, async () => void server.close());
  return {
    port: (server.address() as AddressInfo).port,
    cutAfter(bytes: number) {
      limit = bytes;
    },
  };
}

export { MIB };
