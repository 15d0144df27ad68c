import assert from 'node:assert/strict';
import { mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { START } from '../../src/changes/cursor.ts';
import { ExternalChanges } from '../../src/changes/external-changes.ts';
import { ChangeLog } from '../../src/changes/log.ts';
import { ChangeRecorder } from '../../src/changes/recorder.ts';
import { Database } from '../../src/database/database.ts';
import { openEngine } from '../../src/database/open.ts';
import { createFiles } from '../../src/files/files.ts';
import { RecordedFiles } from '../../src/files/recorded-files.ts';
import type { Change } from '../../src/model/change.ts';
import type { ReportChanges, Store } from '../../src/model/store.ts';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { createSqlite } from '../../testing/migrated-database.ts';
import { until } from '../../testing/until.ts';
import { file, folder, silentLog, upload } from '../contract/bytes.ts';
import { RECORDER } from './contract.ts';

/** Opens a disk whose changes are recorded, also those of other programs. */
async function open(t: TestContext, holdMs = 50) {
  const root = await temporaryFolder(t);
  const { store } = await openDisk({ root, log: silentLog });
  atEnd(t, () => store.close?.());
  const database = new Database(await openEngine(await createSqlite(await temporaryFolder(t))));
  atEnd(t, () => database.close());
  await database.start();
  const log = new ChangeLog(database);
  const startProcess = async () => {
    const external = new ExternalChanges(store, log, {
      record: (changes) => recorder.record(changes),
      holdMs,
      log: RECORDER.log,
    });
    const recorder = new ChangeRecorder(log, database, {
      ...RECORDER,
      onBeat: async (isOldest) => external.setActive(isOldest),
    });
    await recorder.start();
    let closing: Promise<void> | undefined;
    const close = () => (closing ??= external.close().then(() => recorder.close()));
    atEnd(t, close);
    return { recorder, close };
  };
  const first = await startProcess();
  const files = new RecordedFiles(createFiles(store, { presignExpires: 60 }), first.recorder, { user: undefined });
  const changes = async () => (await log.read(START, 10_000)).changes.map(({ type, path }) => `${type} ${path}`);
  const untilRecorded = (change: string) => until(change, async () => (await changes()).includes(change));
  const put = (path: string, text: string) => files.upload({ target: { path: file(path) }, body: upload(text).body });
  await untilRecorded('resync ');
  return { root, store, log, files, put, changes, untilRecorded, startProcess, ...first };
}

describe('Changes of other programs', () => {
  it('are recorded with the present state of the path', async (t) => {
    const { root, log, untilRecorded } = await open(t);
    await writeFile(join(root, 'a'), 'text');
    await untilRecorded('file.written a');
    const [, written] = (await log.read(START, 10)).changes;
    assert.equal(written?.size, 4);
    await rm(join(root, 'a'));
    await untilRecorded('file.deleted a');
    await mkdir(join(root, 'f'));
    await untilRecorded('folder.changed f/');
    await rename(join(root, 'f'), join(root, 'g'));
    await untilRecorded('folder.deleted f/');
    await untilRecorded('folder.changed g/');
  });

  it('are recorded soon after a change of the same path through Holdall', async (t) => {
    const { root, put, untilRecorded } = await open(t);
    for (const path of ['changed', 'deleted']) await put(path, 'ours');
    await writeFile(join(root, 'changed'), 'theirs');
    await rm(join(root, 'deleted'));
    await untilRecorded('file.written changed');
    await untilRecorded('file.deleted deleted');
  });

  it('are not recorded twice if Holdall has made them', async (t) => {
    const { root, files, put, changes, untilRecorded } = await open(t, 1000);
    await files.createFolder(folder('f'));
    for (const path of ['a', 'f/b', 'c']) await put(path, 'text');
    await put('a', 'replaced');
    await files.copyFile(file('a'), file('copy'), { replace: false });
    await files.moveFile(file('a'), file('f/moved'), { replace: false });
    await files.deleteFile(file('c'));
    await files.copyFolder(folder('f'), folder('copied'), { replace: false });
    await files.moveFolder(folder('f'), folder('g'), { replace: false });
    await files.deleteFolder(folder('copied'));
    await writeFile(join(root, 'last'), '');
    await untilRecorded('file.written last');
    assert.deepEqual(await changes(), [
      'resync ',
      'folder.created f/',
      'file.created a',
      'file.created f/b',
      'file.created c',
      'file.replaced a',
      'file.copied copy',
      'file.moved f/moved',
      'file.deleted c',
      'folder.copied copied/',
      'folder.moved g/',
      'folder.deleted copied/',
      'file.written last',
    ]);
  });

  it('are not recorded for a file whose folder was moved through Holdall', async (t) => {
    const { log, put, changes, untilRecorded, store, recorder } = await open(t);
    let report: ReportChanges = () => {};
    const watched: Pick<Store, 'watch' | 'stat' | 'list'> = {
      stat: (path) => store.stat(path),
      list: (path) => store.list(path),
      watch: (watcher) => {
        report = watcher;
      },
    };
    const record = (found: readonly Change[]) => recorder.record(found);
    const external = new ExternalChanges(watched, log, { record, holdMs: 1, log: RECORDER.log });
    atEnd(t, () => external.close());
    for (const path of ['first', 'last']) await put(path, '');
    external.setActive(true);
    // The log is read from here on.
    report([file('first')]);
    await untilRecorded('file.written first');
    await log.append([
      { type: 'file.created', path: file('f/a') },
      { type: 'folder.moved', path: folder('g'), from: folder('f') },
    ]);
    report([file('f/a')]);
    report([file('last')]);
    await untilRecorded('file.written last');
    assert.deepEqual((await changes()).slice(-3), ['file.created f/a', 'folder.moved g/', 'file.written last']);
  });

  it('are recorded by one of several processes, and by another one after that has ended', async (t) => {
    const { root, changes, untilRecorded, startProcess, close } = await open(t);
    const second = await startProcess();
    await writeFile(join(root, 'a'), '');
    await untilRecorded('file.written a');
    await close();
    await until(
      'the second process watches',
      async () => (await changes()).filter((each) => each === 'resync ').length === 2,
    );
    await utimes(join(root, 'a'), 1, 1);
    await writeFile(join(root, 'b'), '');
    await untilRecorded('file.written b');
    assert.equal((await changes()).filter((each) => each === 'file.written b').length, 1);
    await second.close();
  });
});
