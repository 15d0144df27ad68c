import { testWritersOfDisk } from './kept-contents.ts';

// With more kills: tests/long/killed-writers.test.ts.
testWritersOfDisk('kill -9 of a process that deletes, restores, moves and replaces files loses no content', {
  kills: 2,
});
