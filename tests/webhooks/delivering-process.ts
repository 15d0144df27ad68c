import type { DatabaseLocation } from '../../src/database/open.ts';
import { openTables, startDelivering } from './delivering.ts';

/* Delivers the webhooks of the database in its argument, and never ends by itself. */

const location: DatabaseLocation = JSON.parse(process.argv[2] ?? '');
startDelivering(await openTables(location));
process.stdout.write('Delivering.\n');
setInterval(() => {}, 2 ** 30);
