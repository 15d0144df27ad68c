import { ChangeLog } from '../../src/changes/log.ts';
import { ChangeRecorder } from '../../src/changes/recorder.ts';
import { Database } from '../../src/database/database.ts';
import { type DatabaseLocation, openEngine } from '../../src/database/open.ts';
import { parseFile } from '../../src/model/path.ts';
import { RECORDER } from './contract.ts';

/* Records changes at the same time to the database of its first argument, named after the second, and never ends by itself. */

const location: DatabaseLocation = JSON.parse(process.argv[2] ?? '');
const [name = '', count = '0'] = process.argv.slice(3);
const database = new Database(await openEngine(location));
await database.start();
const recorder = new ChangeRecorder(new ChangeLog(database), database, RECORDER);
await recorder.start();
process.stdout.write('Ready.\n');
await Promise.all(
  Array.from({ length: Number(count) }, async (_, index) => {
    for (let round = 0; round < 10; round++) {
      await recorder.record([{ type: 'file.created', path: parseFile(`${name}/${index}/${round}`) }]);
    }
  }),
);
process.stdout.write('Done.\n');
setInterval(() => {}, 2 ** 30);
