import assert from 'node:assert/strict';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { it } from 'node:test';
import { type ServiceInProcess, startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { assertSuccess, send, upload } from '../http/client.ts';
import { contentsOf, temporaryFilesOf, untilNoTemporaryFiles, untilStaged } from '../process/temporary-files.ts';
import { ORDERS, openDownload, openUpload, signedPath } from '../process/transfers.ts';
import { isComplete, plantTree, treeOf } from './trees.ts';

const HALF = Buffer.alloc(512 * 1024, 'half');

it('handles a client that disconnects', async (t) => {
  const service = await startInProcess(t);
  const { port, root } = service;

  /** Waits until some files are copied, or all. */
  const untilCopying = (destination: string) =>
    until(
      'some files are copied',
      async () => existsSync(join(root, destination)) || (await temporaryFilesOf(root)).files.length > 20,
    );

  for (const order of ORDERS) {
    await t.test(`keeps only the old file after a disconnect during an upload (${order})`, async () => {
      await upload(port, 'replaced', 'the old bytes');
      const replacing = await openUpload(port, 'replaced', order);
      const making = await openUpload(port, 'new folder/new', order);
      for (const each of [replacing, making]) await each.send(HALF);
      await untilStaged(root, HALF.length, 2);
      for (const each of [replacing, making]) each.disconnect();
      await untilNoTemporaryFiles(root);
      assert.deepEqual(await contentsOf(root), ['replaced']);
      assert.equal(await readFile(join(root, 'replaced'), 'utf8'), 'the old bytes');
      await assertServes(port);
      await upload(port, 'replaced', HALF);
      assert.deepEqual(await readFile(join(root, 'replaced')), HALF);
    });
  }

  await t.test('stops reading the file after a disconnect during a download', { skip: withoutProc }, async () => {
    await writeFile(join(root, 'large'), '');
    await truncate(join(root, 'large'), 1024 ** 3);
    const signed = await signedPath(port, 'large');
    const downloads = await Promise.all(Array.from({ length: 20 }, () => openDownload(port, signed)));
    await until('all downloads have begun', () => openFilesOf(service).length === downloads.length);
    for (const download of downloads) download.destroy();
    await until('no file is open', () => openFilesOf(service).length === 0);
    await assertServes(port);
  });

  await t.test('leaves no file open after a disconnect before the response starts', { skip: withoutProc }, async () => {
    const signed = await signedPath(port, 'large');
    const small = '/file/replaced';
    for (const path of [signed, small, '/file/large', '/thumb/replaced', '/']) {
      await Promise.all(Array.from({ length: 20 }, () => requestAndDisconnect(port, path)));
    }
    await assertServes(port);
    await until('no file is open', () => openFilesOf(service).length === 0);
  });

  await t.test(
    'cancels a folder copy with streamed progress after a disconnect and removes the partial copy',
    async () => {
      await plantTree(join(root, 'from'), TREE);
      let attempts = 0;
      // On a busy machine, a copy may end before this process checks it.
      await until('a copy is cancelled', async () => {
        const destination = `cancelled ${++attempts}`;
        const leave = startCopy(port, { destination, accept: 'application/x-ndjson' });
        await untilCopying(destination);
        leave();
        await untilNoTemporaryFiles(root);
        return !existsSync(join(root, destination));
      });
      await assertServes(port);
      assert.ok(await isComplete(join(root, 'from'), TREE));
    },
  );

  await t.test('completes a folder copy without streamed progress after a disconnect', async () => {
    const leave = startCopy(port, { destination: 'copied', accept: 'application/json' });
    await untilCopying('copied');
    leave();
    await until('the copy exists', () => existsSync(join(root, 'copied')));
    assert.ok(await isComplete(join(root, 'copied'), TREE));
    await untilNoTemporaryFiles(root);
  });
});

const TREE = treeOf(500);

const withoutProc = existsSync('/proc/self/fd')
  ? false
  : 'the open files of a process are found by /proc, which is of Linux';

/** Returns the files and folders below the root that this process has open, except the database, which is always open. */
function openFilesOf({ root }: ServiceInProcess): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(root) && !path.startsWith(`${root}/.holdall/holdall.sqlite`) ? [path] : [];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });
}

async function assertServes(port: number): Promise<void> {
  assertSuccess(await send(port, '/-/health/ready'), { message: 'The service is ready.', database: 'available' });
}

/** Sends a whole request and closes the connection immediately. */
function requestAndDisconnect(port: number, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', reject).once('close', () => resolve());
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`, () => socket.destroy());
  });
}

/**
 * Requests a copy of the folder `from`. Returns a function that closes the connection without waiting for a response.
 */
function startCopy(port: number, { destination, accept }: { destination: string; accept: string }): () => void {
  const headers = { 'content-type': 'application/json', accept };
  const request = httpRequest({ host: '127.0.0.1', port, path: '/copy', method: 'POST', headers, agent: false });
  request.on('error', () => {});
  request.end(JSON.stringify({ source: 'from', destination, is_folder: true }));
  return () => void request.destroy();
}
