import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Store, TrashStore, VersionStore } from '../../src/model/store.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { until } from '../../testing/until.ts';
import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { contentsOf, readLog, runRepeatedly } from './kept-contents.ts';

export const needs: readonly Need[] = ['bucket'];

/** Milliseconds after which another process continues what a killed one did. */
const LEASE_MS = 1000;

const KILLS = isFullForm ? 20 : 3;
const MAX_LINES = 30;

describe('A process that deletes, restores, moves and replaces files of a bucket', { concurrency: true }, () => {
  // Without object versions, Holdall copies each content itself.
  for (const isVersioned of isFullForm ? [false, true] : [false]) {
    const kind = isVersioned ? 'with object versions' : 'without object versions';
    it(`loses no content of a bucket ${kind} when it is killed`, async (t) => {
      const bucket = await createBucket(undefined, { isVersioned });
      atEnd(t, () => bucket.remove());
      const log = join(await temporaryFolder(t), 'log');
      const options = { ...bucket.settings, leaseMs: LEASE_MS };
      const run = { target: JSON.stringify(options), log, name: '0', kills: KILLS, maxLines: MAX_LINES };
      await runRepeatedly(t, run);
      const { began, wrote } = await readLog(log);
      assert.ok(wrote.size > KILLS);

      const store = openS3({ ...options, warn: () => {} }) as Store & TrashStore & VersionStore;
      atEnd(t, () => store.close?.());
      // An interrupted delete is completed when its lease has expired.
      const contents = await until('every acknowledged content is present', async () => {
        const found = new Set(await contentsOf(store));
        return wrote.isSubsetOf(found) ? found : undefined;
      });
      assert.ok(contents.isSubsetOf(began));
    });
  }
});
