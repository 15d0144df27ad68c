import assert from 'node:assert/strict';
import { it } from 'node:test';
import { ChangeLog } from '../../src/changes/log.ts';
import { ChangeRecorder } from '../../src/changes/recorder.ts';
import { Database } from '../../src/database/database.ts';
import { openEngine } from '../../src/database/open.ts';
import { StoreError } from '../../src/model/error.ts';
import { parseFile } from '../../src/model/path.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { RECORDER } from './contract.ts';

it('logs at the start, each minute and at the end that a full disk prevents the recording of changes', async (t) => {
  const database = new Database(await openEngine({ url: undefined, stateFolder: await temporaryFolder(t) }));
  atEnd(t, () => database.close());
  await database.start();
  const lines: string[] = [];
  const logAs = (level: string) => (details: object, message: string) =>
    void lines.push(`${level} ${message} ${JSON.stringify(details)}`);
  const log = { info: logAs('info'), warn: logAs('warn'), error: logAs('error') };
  const recorder = new ChangeRecorder(new ChangeLog(database), database, { ...RECORDER, beatMs: 2 ** 30, log });
  atEnd(t, () => recorder.close());
  await recorder.start();
  const record = () => recorder.record([{ type: 'file.created', path: parseFile('a') }]);
  const full = t.mock.method(database, 'appendChanges', async () => {
    throw new StoreError('state-full', 'The disk is full.');
  });
  const start = performance.now();
  const clock = t.mock.method(performance, 'now', () => start);
  for (let count = 0; count < 3; count++) await record();
  clock.mock.mockImplementation(() => start + 60_001);
  for (let count = 0; count < 3; count++) await record();
  full.mock.restore();
  for (let count = 0; count < 3; count++) await record();
  assert.deepEqual(lines, [
    'warn Changes are not recorded; clients will read folders again {"failures":1}',
    'warn Changes are not recorded; clients will read folders again {"failures":3}',
    'info Changes are recorded again {}',
  ]);
});
