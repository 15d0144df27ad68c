import { after } from 'node:test';

/** How long a process may take to end after its last test. */
const MAX_END_MS = Number(process.env['MAX_END_MS'] ?? 60_000);

/*
 * Preloaded in each test process. Ends the process with a failure if something that a test left, such as a listening
 * server, keeps it running after its last test. Otherwise the run would never end.
 */
after(() => {
  setTimeout(() => {
    const resources = [...new Set(process.getActiveResourcesInfo())].join(', ');
    process.stderr.write(`The tests have ended, but these resources keep the process running: ${resources}.\n`);
    process.exit(1);
  }, MAX_END_MS).unref();
});
