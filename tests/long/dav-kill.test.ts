/*
 * The service is killed during the requests of real WebDAV clients, which repeat and continue them in their own ways: only this
 * shows that what they see as stored is stored. Each file takes a process of curl or several requests of davfs2.
 */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { PASSWORD, startDavProcess, USER } from '../dav/dav-service.ts';
import { mountDavfs2 } from '../dav/davfs2.ts';
import { assertPossible, possibleContents } from '../dav/possible-contents.ts';
import { type RecordingProxy, startRecordingProxy } from '../dav/recording-proxy.ts';
import { treeIn } from '../dav/trees.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['curl', 'davfs2'];

const FILES_OF_DAVFS2 = 50;
const FILES_OF_CURL = 30;

/** The requests during which the service is killed, after this number of changes. */
const KILLS = [
  { after: 20, method: 'MOVE' },
  { after: 40, method: 'PUT' },
  { after: 60, method: 'LOCK' },
] as const;

describe('kill -9 during changes of davfs2 and curl', () => {
  it('loses no acknowledged change and leaves no partial file', async (t) => {
    const proxy = await startRecordingProxy(t);
    let service = await startDavProcess(t);
    const { root, path } = service;
    proxy.forwardTo(service.port);
    const url = `http://127.0.0.1:${proxy.port}${path}`;
    const { folder, unmount } = await mountDavfs2(t, url);
    const check = async () =>
      assertPossible(await treeIn(root, 'latin1'), possibleContents(proxy.changes, path.slice(1)));

    const killAtAll = async () => {
      for (const { after, method } of KILLS) {
        await until(`${after} changes`, () => proxy.changes.length >= after);
        const killed = Promise.withResolvers<void>();
        proxy.interrupt(method, async () => {
          proxy.forwardTo(undefined);
          await service.kill();
          killed.resolve();
        });
        await killed.promise;
        await until('all broken connections are recorded', () => proxy.pending() === 0);
        await check();
        service = await startDavProcess(t, { root });
        proxy.forwardTo(service.port);
      }
    };
    await Promise.all([killAtAll(), writeByDavfs2(folder), writeByCurl(t, url)]);
    await unmount();
    await check();
    const tree = await treeIn(root, 'latin1');
    // After a LOCK without a response, davfs2 finds its own empty file, and sends `If-None-Match: *`. It rarely retries that.
    const refused = proxy.changes.filter(({ method, status }) => method === 'PUT' && status === 412);
    const refusedPaths = new Set(refused.map((change) => change.path));
    const isRefused = (name: string) => refusedPaths.has(`${path.slice(1)}${name}.tmp`);
    for (const [client, count] of [
      ['davfs2', FILES_OF_DAVFS2],
      ['curl', FILES_OF_CURL],
    ] as const) {
      for (const name of Array.from({ length: count }, (_, number) => `${client}-${number}`)) {
        const isEmpty = tree[name] === '' && isRefused(name);
        assert.ok(isEmpty || tree[name] === contentOf(name), `"${name}" has ${tree[name]?.length} bytes.`);
      }
    }
    assert.ok(refusedPaths.size <= KILLS.length, `${refusedPaths.size} uploads were refused.`);
    assert.ok(acknowledged(proxy) > 200, `${acknowledged(proxy)} changes were acknowledged.`);
  });
});

const acknowledged = ({ changes }: RecordingProxy) =>
  changes.filter(({ status = 0 }) => status >= 200 && status < 300).length;

/** Content that is different for each file, and of several sizes. */
const contentOf = (name: string) => `${name}\n`.repeat(1 + ((Number(name.split('-')[1]) * 7919) % 20_000));

/** Writes files with a temporary name, and renames each. */
async function writeByDavfs2(folder: string): Promise<void> {
  for (let number = 0; number < FILES_OF_DAVFS2; number++) {
    const [temporary, final] = [join(folder, `davfs2-${number}.tmp`), join(folder, `davfs2-${number}`)];
    const succeeds = (attempt: Promise<unknown>) =>
      attempt.then(
        () => true,
        () => false,
      );
    await until('the file is written', () => succeeds(writeFile(temporary, contentOf(`davfs2-${number}`))));
    await until(
      'the file is renamed',
      async () => (await succeeds(rename(temporary, final))) || succeeds(access(final)),
    );
  }
}

async function writeByCurl(t: Parameters<typeof temporaryFolder>[0], url: string): Promise<void> {
  const folder = await temporaryFolder(t);
  const curl = (...args: string[]) =>
    promisify(execFile)('curl', ['--silent', '--show-error', '--fail', '--user', `${USER}:${PASSWORD}`, ...args]).then(
      () => true,
      () => false,
    );
  for (let number = 0; number < FILES_OF_CURL; number++) {
    const file = join(folder, 'content');
    await writeFile(file, contentOf(`curl-${number}`));
    const [temporary, final] = [`${url}curl-${number}.tmp`, `${url}curl-${number}`];
    await until('the file is uploaded', () => curl('--upload-file', file, temporary));
    await until(
      'the file is moved',
      async () =>
        (await curl('--request', 'MOVE', '--header', `Destination: ${final}`, temporary)) || curl('--head', final),
    );
  }
}
