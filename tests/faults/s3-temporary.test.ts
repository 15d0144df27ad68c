import assert from 'node:assert/strict';
import { it } from 'node:test';
import { startHoldall, temporaryFolder } from '../../testing/holdall.ts';
import { createBucket } from '../../testing/servers/bucket.ts';
import { settingsOf } from '../../testing/servers/settings.ts';
import { assertFailure, assertSuccess, send } from '../http/client.ts';
import { ORDERS, openUpload } from '../process/transfers.ts';
import type { Need } from '../runner/needs.ts';
import { mountTmpfs } from './mounts.ts';

export const needs: readonly Need[] = ['bucket'];

const MIB = 1024 * 1024;

it('handles a full temporary folder with an S3 store', async (t) => {
  const temporary = await temporaryFolder(t);
  const reason = await mountTmpfs(t, temporary, 'size=16m');
  if (reason) return t.skip(reason);
  const bucket = await createBucket();
  t.after(() => bucket.remove());
  const { port } = await startHoldall(t, { settings: { ...settingsOf(bucket), TMPDIR: temporary } });

  const upload = async (path: string, order: (typeof ORDERS)[number], bytes: Buffer) => {
    const opened = await openUpload(port, path, order);
    // The request is rejected before its end. Only the response matters.
    opened.send(bytes).catch(() => {});
    return opened.finish();
  };

  await t.test('returns 507 with the reason for a file that needs staging and stores nothing', async () => {
    const response = await upload('f/large', 'file first', Buffer.alloc(32 * MIB));
    assertFailure(response, 507, /folder for temporary files .* is full/);
    assert.equal(response.headers['retry-after'], '60');
    assert.deepEqual([await bucket.keys(), await bucket.openUploads()], [[], []]);
  });

  await t.test('stores small files and files whose prefix field comes first', async () => {
    const stored = { message: 'File uploaded successfully', path: 'f/large' };
    assertSuccess(await upload('f/large', 'prefix first', Buffer.alloc(32 * MIB)), stored);
    for (const order of ORDERS) {
      assertSuccess(await upload(`f/${order}`, order, Buffer.alloc(MIB)), { ...stored, path: `f/${order}` });
    }
    assert.equal((await send(port, '/file/f/file%20first')).body.length, MIB);
  });
});
