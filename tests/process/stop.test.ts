import assert from 'node:assert/strict';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { atEnd, type Holdall, isRunning, startHoldall } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { assertSuccess } from '../http/client.ts';
import { untilAllServe } from './serving.ts';
import { contentsOf, temporaryFilesOf, untilStaged } from './temporary-files.ts';
import { openDownload, openUpload, signedPath } from './transfers.ts';

/** More bytes than the kernel buffers for a connection whose peer does not read. */
const LARGE = 32 * 1024 * 1024;

const HALF = Buffer.alloc(256 * 1024, 'half');

describe('SIGTERM', () => {
  it('drains transfers, refuses new connections, closes idle ones and exits 0, also if repeated, with two workers', async (t) => {
    const holdall = await startHoldall(t, { settings: { WORKERS: '2', SHUTDOWN_TIMEOUT: '3600' } });
    const { port, root } = holdall;
    const processes = [holdall.pid, ...(await untilAllServe(holdall))];
    await writeFile(join(root, 'large'), '');
    await truncate(join(root, 'large'), LARGE);
    const path = await signedPath(port, 'large');
    const download = await openDownload(port, path);
    const openKeepAlive = async (url: string) => {
      const socket = connect(port, '127.0.0.1');
      atEnd(t, () => socket.destroy());
      socket.write(`GET ${url} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      await new Promise((resolve) => socket.once('readable', resolve));
      return socket;
    };
    const idle = await openKeepAlive('/-/health/live');
    const kept = await openKeepAlive(path);
    const uploads = [];
    for (const name of ['slow/a', 'slow/b', 'slow/c']) {
      const upload = await openUpload(port, name);
      await upload.send(HALF);
      uploads.push({ path: name, ...upload });
    }
    await untilStaged(root, HALF.length, uploads.length);

    holdall.signal('SIGTERM');
    await until('new connections are refused', () => isRefused(port));
    holdall.signal('SIGTERM');
    assert.match(String(await buffer(idle)), /^HTTP\/1\.1 200 /);
    assert.ok(isRunning(holdall.pid), 'The service does not stop before the request is complete.');

    for (const upload of uploads) {
      await upload.send(HALF);
      assertSuccess(await upload.finish(), { message: 'File uploaded successfully', path: upload.path });
      assert.deepEqual(await readFile(join(root, upload.path)), Buffer.concat([HALF, HALF]));
    }
    const bytes = await buffer(download);
    assert.equal(bytes.length, LARGE);
    assert.ok(bytes.equals(Buffer.alloc(LARGE)));
    assert.ok((await buffer(kept)).length > LARGE);
    assert.deepEqual(await ends(holdall), { code: 0, signal: null });
    assert.ok(!processes.some(isRunning));
    assert.deepEqual(await temporaryFilesOf(root), { owners: [], files: [] });
  });

  it('aborts transfers after SHUTDOWN_TIMEOUT and leaves no temporary files', async (t) => {
    const holdall = await startHoldall(t, { settings: { SHUTDOWN_TIMEOUT: '1' } });
    const { root } = holdall;
    await writeFile(join(root, 'old'), 'the old bytes');
    const upload = await openUpload(holdall.port, 'old');
    await upload.send(HALF);
    await untilStaged(root, HALF.length);
    holdall.signal('SIGTERM');
    assert.deepEqual(await ends(holdall), { code: 0, signal: null });
    await assert.rejects(upload.finish(), 'The connection ends without a response.');
    assert.equal(await readFile(join(root, 'old'), 'utf8'), 'the old bytes');
    assert.deepEqual(await contentsOf(root), ['old']);
    assert.deepEqual(await temporaryFilesOf(root), { owners: [], files: [] });
  });
});

/** Returns how the service ends. It must end soon. */
async function ends(holdall: Holdall) {
  await until('the service has ended', () => !isRunning(holdall.pid));
  return holdall.ended;
}

/** Returns whether the port has no listener. */
function isRefused(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      // The kernel resets a connection that it accepted just before the port was closed.
      if (error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET') resolve(error.code === 'ECONNREFUSED');
      else reject(error);
    });
  });
}
