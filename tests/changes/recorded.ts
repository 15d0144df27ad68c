import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChangeLog } from '../../src/changes/log.ts';
import { ChangeRecorder } from '../../src/changes/recorder.ts';
import { Database } from '../../src/database/database.ts';
import { openEngine } from '../../src/database/open.ts';
import { createSqlite } from '../../testing/migrated-database.ts';
import { RECORDER } from './contract.ts';

/** A change log in a database of its own. */
export interface RecordedChanges {
  readonly log: ChangeLog;
  readonly recorder: ChangeRecorder;
}

/** Opens a new change log. */
export async function openChanges(): Promise<RecordedChanges & AsyncDisposable> {
  await using resources = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'holdall-test-changes-'));
  resources.defer(() => rm(folder, { recursive: true, force: true }));
  const database = new Database(await openEngine(await createSqlite(folder)));
  resources.defer(() => database.close());
  await database.start();
  const log = new ChangeLog(database);
  const recorder = new ChangeRecorder(log, database, RECORDER);
  resources.defer(() => recorder.close());
  await recorder.start();
  const opened = resources.move();
  return { log, recorder, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
