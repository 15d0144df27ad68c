import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { startConnectionCutter } from '../../testing/servers/connection-cutter.ts';
import { uploadByTus } from '../../testing/tus-client.ts';
import { s3 } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { startService } from './service.ts';

export const needs: readonly Need[] = ['bucket'];

const MIB = 2 ** 20;

// tests/deploy/upload-proxies.test.ts has the same for a disk.

it('tus-js-client uploads to a bucket in parts of its own size, also after a broken connection', async (t) => {
  const service = await startService(s3, { hasJobs: true });
  atEnd(t, () => service.stop());
  const cutter = await startConnectionCutter(t, service.port);
  // The bucket receives parts of 8 MiB.
  const content = randomBytes(12 * MIB + 1);
  cutter.cutAfter(9 * MIB);
  const { requests } = await uploadByTus({
    service: `http://127.0.0.1:${cutter.port}`,
    metadata: { path: 'large.bin' },
    content,
    chunkSize: 5 * MIB,
  });
  assert.deepEqual([requests['PATCH 0'], requests['HEAD 200']], [1, 1], JSON.stringify(requests));
  const stored = await fetch(`http://127.0.0.1:${service.port}/file/large.bin`);
  assert.ok(Buffer.from(await stored.arrayBuffer()).equals(content));
});
