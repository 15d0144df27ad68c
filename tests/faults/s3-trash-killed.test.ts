import type { Need } from '../runner/needs.ts';
import { testWritersOfBucket } from './kept-contents.ts';

export const needs: readonly Need[] = ['bucket'];

// With more kills, and with object versions: tests/long/killed-writers.test.ts. Here, Holdall copies each content itself.
testWritersOfBucket(
  'kill -9 of a process that deletes, restores, moves and replaces files of a bucket loses no content',
  {
    kills: 2,
    isVersioned: false,
  },
);
