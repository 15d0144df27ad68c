import assert from 'node:assert/strict';
import { link, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, it, type TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { isStoreError } from '../../src/model/error.ts';
import { type Disk, openDisk } from '../../src/stores/disk/disk.ts';
import { RecoveryFolder } from '../../src/stores/disk/recovery.ts';
import { atEnd } from '../../testing/at-end.ts';
import { file, folder, ofKind, plant, silentLog, textOf } from '../contract/bytes.ts';

interface LoggedError {
  readonly message: string;
  readonly recovered?: string;
  readonly items?: number;
}

describe('A disk that recovers files and folders', () => {
  let root: string;
  let errors: LoggedError[];
  const log = { ...silentLog, error: (message: string, details: object) => void errors.push({ message, ...details }) };

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'holdall-test-'));
    errors = [];
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  describe('replacing a folder', () => {
    let disk: Disk;

    beforeEach(async () => {
      disk = await openDisk({ root, log });
      await plantFolders();
    });
    afterEach(() => disk.store.close?.());

    const plantFolders = () => plant(disk.store, { 'new/a': 'new', 'old/a': 'old', 'old/deep/b': 'old' });
    const replaceOld = async () => disk.store.moveFolder?.(folder('new'), folder('old'), { replace: true });

    it('keeps the replaced folder after a restart when another program creates a file of its name', async () => {
      for (let hasFailed = false; !hasFailed; ) {
        await plantFolders();
        const creator = await startCreatingFile(join(root, 'old'));
        try {
          await replaceOld();
        } catch (error) {
          assert.ok(isStoreError(error, 'wrong-kind'), String(error));
          hasFailed = true;
        } finally {
          await creator.terminate();
        }
      }
      await disk.store.close?.();
      assert.equal(errors.length, 1);
      const recovered = errors[0]?.recovered ?? '';
      assert.equal(dirname(dirname(recovered)), join(root, '.holdall/recovered'));

      disk = await openDisk({ root, log });
      assert.equal(await readFile(join(recovered, 'a'), 'utf8'), 'old');
      assert.equal(await readFile(join(recovered, 'deep/b'), 'utf8'), 'old');
      assert.equal(await textOf(disk.store, 'new/a'), 'new');
    });

    it('leaves nothing in the recovery folder when it succeeds', async () => {
      await replaceOld();
      assert.equal(await textOf(disk.store, 'old/a'), 'new');
      await assert.rejects(disk.store.stat(file('old/deep/b')), ofKind('not-found'));
      assert.deepEqual(await readdir(join(root, '.holdall/recovered')), []);
      assert.deepEqual(errors, []);
    });
  });

  describe('the recovery folder', () => {
    const recovered = () => join(root, '.holdall/recovered');

    it('is reported at the start while it has items of ended processes', async () => {
      await mkdir(join(recovered(), 'host~1~id/a'), { recursive: true });
      await rename(join(recovered(), 'host~1~id'), join(recovered(), await nameOfEndedProcess()));
      const disk = await openDisk({ root, log });
      await disk.store.close?.();
      assert.deepEqual(
        errors.map(({ items }) => items),
        [1],
      );
    });

    it('gets files that an ended process had moved away, if they have no other name', async () => {
      const name = await nameOfEndedProcess();
      const temporary = join(root, '.holdall/temporary', name);
      await mkdir(temporary);
      for (const each of ['moved-only', 'moved-linked', 'staged']) await writeFile(join(temporary, each), each);
      await link(join(temporary, 'moved-linked'), join(root, 'a'));
      const disk = await openDisk({ root, log });
      assert.equal(await textOf(disk.store, 'a'), 'moved-linked');
      await disk.store.close?.();
      assert.deepEqual(await readdir(join(recovered(), name)), ['moved-only']);
      assert.deepEqual(await readdir(join(root, '.holdall/temporary')), []);
      assert.deepEqual(
        errors.map((error) => error.recovered ?? error.items),
        [join(recovered(), name, 'moved-only'), 1],
      );
    });

    it('loses empty folders of ended processes at the start', async () => {
      await mkdir(join(recovered(), await nameOfEndedProcess()), { recursive: true });
      const disk = await openDisk({ root, log });
      await disk.store.close?.();
      assert.deepEqual(await readdir(recovered()), []);
      assert.deepEqual(errors, []);
    });

    /** Returns a name like those of this machine, with a pid that no process has. */
    async function nameOfEndedProcess(): Promise<string> {
      const disk = await openDisk({ root, log });
      const [name = ''] = await readdir(join(root, '.holdall/temporary'));
      await disk.store.close?.();
      return name.replace(`~${process.pid}~`, '~99999999~');
    }
  });

  describe('restoring a file', () => {
    let recovery: RecoveryFolder;

    beforeEach(async () => {
      recovery = openRecovery();
      await writeFile(join(root, 'aside'), 'x');
    });

    const restore = () => recovery.restoreFile(join(root, 'aside'), join(root, 'd/a'), file('d/a'));

    it('renames it back', async () => {
      await mkdir(join(root, 'd'));
      await restore();
      assert.equal(await readFile(join(root, 'd/a'), 'utf8'), 'x');
      assert.deepEqual(errors, []);
    });

    it('makes it a version when a newer file has its name', async () => {
      await mkdir(join(root, 'd'));
      await writeFile(join(root, 'd/a'), 'newer');
      await restore();
      assert.equal(await readFile(join(root, 'd/a'), 'utf8'), 'newer');
      const history = join(root, 'versions/d/d/v/a');
      const [version = ''] = await readdir(history);
      assert.equal(await readFile(join(history, version), 'utf8'), 'x');
      assert.deepEqual((await readdir(root)).toSorted(), ['d', 'versions']);
      assert.deepEqual(errors, []);
    });

    it('renames it back or makes it a version while newer files come and go', async (t) => {
      await mkdir(join(root, 'd'));
      const newer = await startRenaming(t, { kind: 'file', target: join(root, 'd/a'), folder: join(root, 'newer') });
      const contents = Array.from({ length: RACES }, (_, index) => `x${index}`);
      for (const content of contents) {
        await writeFile(join(root, 'aside'), content);
        newer.interfere();
        await restore();
      }
      await newer.stop();
      assert.deepEqual(errors, []);
      const remaining = await contentsIn(root);
      assert.deepEqual(remaining.filter((each) => each.startsWith('x')).toSorted(), contents.toSorted());
    });

    for (const [event, prepare] of [
      ['its folder was removed', async () => {}],
      ['a folder has its name', async () => void (await mkdir(join(root, 'd/a'), { recursive: true }))],
    ] as const) {
      it(`moves it to the recovery folder when ${event}`, async () => {
        await prepare();
        await restore();
        assert.equal(await readFile(join(root, 'recovered/id/a'), 'utf8'), 'x');
        assert.deepEqual(
          errors.map((error) => error.recovered),
          [join(root, 'recovered/id/a')],
        );
      });
    }
  });

  describe('restoring a folder', () => {
    it('renames it back or merges it while newer folders come and go', async (t) => {
      const recovery = openRecovery();
      const newer = await startRenaming(t, { kind: 'folder', target: join(root, 'd'), folder: join(root, 'newer') });
      const contents = Array.from({ length: RACES }, (_, index) => `x${index}`);
      for (const content of contents) {
        const moved = await recovery.reserve(content);
        await mkdir(moved);
        await writeFile(join(moved, content), content);
        newer.interfere();
        await recovery.restoreFolder(moved, join(root, 'd'), folder('d'));
      }
      await newer.stop();
      assert.deepEqual(errors, []);
      const remaining = await contentsIn(root);
      assert.deepEqual(remaining.filter((each) => each.startsWith('x')).toSorted(), contents.toSorted());
      assert.deepEqual(await readdir(recovery.path), []);
    });
  });

  function openRecovery(): RecoveryFolder {
    return new RecoveryFolder(join(root, 'recovered'), {
      root: { makeOwnFolder: async (path) => void (await mkdir(path, { recursive: true })) },
      versions: join(root, 'versions'),
      log,
      newName: () => 'id',
    });
  }
});

/** Restorations that race with a thread. In many of them, a newer item appears or disappears between two system calls. */
const RACES = 100;

/** Returns the contents of all files in a folder and its subfolders. */
async function contentsIn(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true, recursive: true });
  return Promise.all(
    entries.filter((each) => each.isFile()).map((each) => readFile(join(each.parentPath, each.name), 'utf8')),
  );
}

/** Interferences with one restoration: fewer than make it give up, because each makes at most one attempt fail. */
const INTERFERENCES = 90;

/** Starts a thread that creates a file or folder at `target`, renames it into `folder`, and deletes it, when it is asked to. */
async function startRenaming(t: TestContext, options: { kind: 'file' | 'folder'; target: string; folder: string }) {
  const remaining = new Int32Array(new SharedArrayBuffer(4));
  const renamer = new Worker(createAndRename, { eval: true, workerData: { ...options, remaining } });
  const stop = () => renamer.terminate();
  atEnd(t, stop);
  await new Promise((resolve) => renamer.once('message', resolve));
  const interfere = () => {
    Atomics.store(remaining, 0, INTERFERENCES);
    Atomics.notify(remaining, 0);
  };
  return { interfere, stop };
}

const createAndRename = `
  const { mkdirSync, readFileSync, renameSync, rmdirSync, unlinkSync, writeFileSync } = require('node:fs');
  const { parentPort, workerData } = require('node:worker_threads');
  const { kind, target, folder, remaining } = workerData;
  mkdirSync(folder);
  parentPort.postMessage('started');
  for (let index = 0; ; index += 1) {
    Atomics.wait(remaining, 0, 0);
    Atomics.sub(remaining, 0, 1);
    try {
      if (kind === 'file') writeFileSync(target, 'newer', { flag: 'wx' });
      else {
        mkdirSync(folder + '/new');
        writeFileSync(folder + '/new/b', 'newer');
        renameSync(folder + '/new', target);
      }
    } catch {}
    try {
      const moved = folder + '/' + index;
      renameSync(target, moved);
      if (kind === 'folder') {
        unlinkSync(moved + '/b');
        rmdirSync(moved);
      } else if (readFileSync(moved, 'utf8') === 'newer') unlinkSync(moved);
    } catch {}
  }
`;

/** Starts a thread that creates a file at `path` as soon as the name is free. */
async function startCreatingFile(path: string): Promise<Worker> {
  const creator = new Worker(createFileWhenFree, { eval: true, workerData: path });
  await new Promise((resolve) => creator.once('message', resolve));
  return creator;
}

const createFileWhenFree = `
  const { openSync } = require('node:fs');
  const { parentPort, workerData } = require('node:worker_threads');
  parentPort.postMessage('started');
  for (;;) {
    try {
      openSync(workerData, 'wx');
      break;
    } catch {}
  }
`;
