import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdir, readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startHoldall } from '../../testing/holdall.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import { assertSuccess, send, upload } from '../http/client.ts';
import { contentsOf, temporaryFilesOf, untilStaged } from '../process/temporary-files.ts';
import { ORDERS, openUpload } from '../process/transfers.ts';

/** A service on a disk. */
interface Service {
  readonly port: number;
  readonly root: string;
}

const HALF = Buffer.alloc(512 * 1024, 'half');
const OLD = Buffer.alloc(300_000, 'old');

describe('kill -9 during uploads', () => {
  it('keeps the old files intact, and the next start removes the temporary files, but not those of running services', async (t) => {
    const killed = await startHoldall(t);
    const { port, root } = killed;
    const running = await startInProcess(t, { root });
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names) await upload(port, `folder/${name}`, OLD);
    const expected = await contentsOf(root);
    const inProgress = await beginUploads(running);

    const paths = names.flatMap((name) => [`folder/${name}`, `new folder/${name}`]);
    const count = paths.length * ORDERS.length;
    for (const path of paths) {
      for (const order of ORDERS) await (await openUpload(port, path, order)).send(HALF);
    }
    await untilStaged(root, HALF.length, count + inProgress.length);
    await killed.kill();
    assert.deepEqual(await contentsOf(root), expected);
    const { files } = await temporaryFilesOf(root);
    assert.equal(files.length, count + inProgress.length, 'There is something to sweep.');

    const next = await startHoldall(t, { root });
    // At its start, a process repeatedly checks for a moment whether it can write, because a killed process can take
    // a moment to end.
    await until('only the folders of running processes remain', async () => {
      const left = await temporaryFilesOf(root);
      const owners = new Set([process.pid, next.pid]);
      return left.files.length === inProgress.length && new Set(left.owners).symmetricDifference(owners).size === 0;
    });
    await finishUploads(running, inProgress);
    assert.deepEqual((await temporaryFilesOf(root)).files, []);
    for (const name of names) assert.deepEqual((await send(next.port, `/file/folder/${name}`)).body, OLD);
    await upload(next.port, 'folder/a', HALF);
    assert.deepEqual(await readFile(join(root, 'folder/a')), HALF);
  });
});

describe('Two services on one root', () => {
  it('keep uploads in progress of the other service when both have the same process ID', async (t) => {
    // Like containers that share a volume and a host name: both services have the process ID 1.
    const command = ['unshare', '--pid', '--fork', '--mount-proc', '--kill-child', process.execPath] as const;
    const reason = unavailableReason(command);
    if (reason) return t.skip(`processes can't have ids of their own here: ${reason}`);
    const first = await startHoldall(t, { command });
    const uploads = await beginUploads(first);
    const second = await startHoldall(t, { root: first.root, command });
    assert.equal(first.ready['pid'], second.ready['pid'], 'Both have the same process ID.');
    await finishUploads(first, uploads);
  });

  it('keep the staging folder of an idle service on another host after days without uploads', async (t) => {
    const command = ['unshare', '--uts', 'sh', '-c', 'hostname another && exec "$0" "$@"', process.execPath] as const;
    const reason = unavailableReason(command);
    if (reason) return t.skip(`a process can't have another name of the machine here: ${reason}`);
    const idle = await startInProcess(t);
    const [own] = await readdir(join(idle.root, '.holdall/temporary'));
    assert.ok(own);
    const daysAgo = new Date(Date.now() - 3 * 24 * 60 * 60 * 1000);
    await utimes(join(idle.root, '.holdall/temporary', own), daysAgo, daysAgo);
    await startHoldall(t, { root: idle.root, command });
    await upload(idle.port, 'after the days', 'received');
    assert.equal(await readFile(join(idle.root, 'after the days'), 'utf8'), 'received');
  });
});

/** Returns why this machine can't run a command that changes what a process sees of it; undefined if it can. */
function unavailableReason([program, ...args]: readonly [string, ...string[]]): string | undefined {
  const ran = spawnSync(program, [...args, '--version'], { encoding: 'utf8' });
  if (ran.status === 0) return undefined;
  return (ran.error?.message ?? ran.stderr).trim().split('\n')[0] ?? 'it fails';
}

/** Begins an upload in each order of the parts, and waits until half of each is on the disk. */
async function beginUploads({ port, root }: Service) {
  const open = [];
  for (const order of ORDERS) {
    const path = `while others start/${order}`;
    const begun = await openUpload(port, path, order);
    await begun.send(HALF);
    open.push({ path, ...begun });
  }
  await untilStaged(root, HALF.length, open.length);
  return open;
}

async function finishUploads(
  { root }: Pick<Service, 'root'>,
  uploads: Awaited<ReturnType<typeof beginUploads>>,
): Promise<void> {
  for (const { path, finish, send: sendBytes } of uploads) {
    await sendBytes(HALF);
    assertSuccess(await finish(), { message: 'File uploaded successfully', path });
    assert.deepEqual(await readFile(join(root, path)), Buffer.concat([HALF, HALF]));
  }
}
