import { Type } from 'typebox';
import { Database } from '../../src/database/database.ts';
import { type DatabaseLocation, openEngine } from '../../src/database/open.ts';
import { defineKind } from '../../src/jobs/job.ts';
import { JobQueue } from '../../src/jobs/queue.ts';
import { JobRunner } from '../../src/jobs/runner.ts';
import { LEASE_MS, OPTIONS } from './contract.ts';

/* Runs a job of the database in its argument, prints a line when it has started, and never ends by itself. */

const location: DatabaseLocation = JSON.parse(process.argv[2] ?? '');
const database = new Database(await openEngine(location));
await database.start();
const kind = defineKind({
  name: 'controlled',
  input: Type.Object({ name: Type.String() }),
  run: () => {
    process.stdout.write('Running.\n');
    return new Promise<object>((resolve) => void setInterval(() => resolve, 2 ** 30).ref());
  },
});
new JobRunner(new JobQueue(database, { leaseMs: LEASE_MS }), database, [kind], OPTIONS).start();
setInterval(() => {}, 2 ** 30);
