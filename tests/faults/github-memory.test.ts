import { it } from 'node:test';
import { atEnd } from '../process/holdall.ts';
import type { Need } from '../runner/needs.ts';
import { hostRepository } from '../servers/hosted-repository.ts';
import { settingsOfRepository } from '../servers/settings.ts';
import { assertFlatUploads, skipWithoutPeaks } from './flat-memory.ts';
import { MIB } from './pattern.ts';

export const needs: readonly Need[] = ['git'];

/** Near the largest that a repository takes, and no whole number of what base64 is made of. */
const SIZE = 90 * MIB + 12_345;

it('a file of 90 MiB goes into a repository whole, and the memory of the service stays flat', {
  skip: skipWithoutPeaks,
}, async (t) => {
  const hosted = await hostRepository({ files: { 'README.md': 'text' } });
  atEnd(t, () => hosted.remove());
  await assertFlatUploads(t, settingsOfRepository(hosted), SIZE);
});
