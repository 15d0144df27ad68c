import { testWritersOfBucket, testWritersOfDisk } from '../faults/kept-contents.ts';
import type { Need } from '../runner/needs.ts';

/*
 * Only these random kills, at any moment of any operation and of concurrent replacements, find a moment in which the only
 * copy of a content is lost. tests/faults has a few kills; finding a short moment takes many.
 */

export const needs: readonly Need[] = ['bucket'];

testWritersOfDisk('A process that deletes, restores, moves and replaces files keeps each content once', {
  kills: 60,
  isKilled: false,
});
testWritersOfDisk('kill -9 of a process that deletes, restores, moves and replaces files loses no content', {
  kills: 60,
});
testWritersOfDisk('kill -9 of processes that replace the same files loses no version', {
  processes: 2,
  kills: 60,
  onlyWrites: true,
});
for (const isVersioned of [false, true]) {
  const kind = isVersioned ? 'with object versions' : 'without object versions';
  testWritersOfBucket(`kill -9 of a process loses no content of a bucket ${kind}`, { kills: 20, isVersioned });
}
