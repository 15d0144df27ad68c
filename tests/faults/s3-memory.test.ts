import { it } from 'node:test';
import { atEnd } from '../process/holdall.ts';
import type { Need } from '../runner/needs.ts';
import { createBucket } from '../servers/bucket.ts';
import { settingsOf } from '../servers/settings.ts';
import { assertFlatUploads, skipWithoutPeaks } from './flat-memory.ts';
import { MIB } from './pattern.ts';

export const needs: readonly Need[] = ['bucket'];

/** Many times what the service may hold in memory, and no whole number of parts. */
const SIZE = 300 * MIB + 12_345;

it('a file of 300 MiB goes into a bucket whole, and the memory of the service stays flat', {
  skip: skipWithoutPeaks,
}, async (t) => {
  const bucket = await createBucket();
  atEnd(t, () => bucket.remove());
  await assertFlatUploads(t, settingsOf(bucket), SIZE);
});
