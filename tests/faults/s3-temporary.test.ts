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

it('a full folder for temporary files, in front of a bucket', async (t) => {
  const temporary = await temporaryFolder(t);
  const reason = await mountTmpfs(t, temporary, 'size=16m');
  if (reason) return t.skip(reason);
  const bucket = await createBucket();
  t.after(() => bucket.remove());
  const { port } = await startHoldall(t, { settings: { ...settingsOf(bucket), TMPDIR: temporary } });

  const upload = async (path: string, order: (typeof ORDERS)[number], bytes: Buffer) => {
    const opened = await openUpload(port, path, order);
    // Refused while it is being sent; what counts is the answer.
    opened.send(bytes).catch(() => {});
    return opened.finish();
  };

  await t.test('refuses a file that has to wait there, says why, and keeps nothing of it', async () => {
    const answer = await upload('f/large', 'file first', Buffer.alloc(32 * MIB));
    assertFailure(answer, 503, /folder for temporary files .* is full/);
    assert.equal(answer.headers['retry-after'], '60');
    assert.deepEqual([await bucket.keys(), await bucket.openUploads()], [[], []]);
  });

  await t.test('is none of the business of a file whose prefix comes first, nor of a small one', async () => {
    const stored = { message: 'File uploaded successfully', path: 'f/large' };
    assertSuccess(await upload('f/large', 'prefix first', Buffer.alloc(32 * MIB)), stored);
    for (const order of ORDERS) {
      assertSuccess(await upload(`f/${order}`, order, Buffer.alloc(MIB)), { ...stored, path: `f/${order}` });
    }
    assert.equal((await send(port, '/file/f/file%20first')).body.length, MIB);
  });
});
