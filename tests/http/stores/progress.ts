import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { Backend } from '../../contract/backend.ts';
import { plant, treeOf } from '../client.ts';
import {
  ALL,
  BYTES,
  COPY,
  FILES,
  linesOf,
  MOVE,
  NDJSON,
  resultOf,
  sendOperation,
  source,
  TRANSFERS,
} from '../folder-operations.ts';
import { servedEmpty } from '../service.ts';

/** Tests operations on whole folders: progress, cancellation, interruption and repetition. */
export function progressSuite(backend: Backend): void {
  describe(`Progress of folder operations over HTTP: ${backend.name}`, () => {
    const service = servedEmpty(backend);
    let port: number;

    beforeEach(() => {
      ({ port } = service);
    });

    for (const operation of ALL) {
      it(`${operation.name} returns lines of progress to a client that accepts NDJSON, and the envelope with its status as the last line`, async () => {
        await plant(port, source('a'));
        const response = await sendOperation(port, operation, NDJSON);
        assert.equal(response.headers['content-type'], NDJSON);
        assert.equal(response.headers['cache-control'], 'no-store');
        assert.ok(response.headers['x-request-id']);
        const { progress, last } = linesOf(response);
        assert.deepEqual(last, { success: true, ...operation.success, status: 200 });
        for (const { done, total, bytes } of progress) {
          assert.ok(Number.isInteger(done) && done >= 0 && done <= FILES);
          assert.ok(Number.isInteger(bytes) && bytes >= 0 && bytes <= BYTES);
          assert.ok(total === null || total === FILES);
        }
        assert.deepEqual(await treeOf(port), resultOf(operation));
      });
    }

    it('returns a conflict, and a folder into itself, as the last line', async () => {
      await plant(port, { 'a/x': '1', 'b/x': 'other' });
      for (const operation of TRANSFERS) {
        const { last } = linesOf(await sendOperation(port, operation, NDJSON));
        assert.deepEqual([last['success'], last['status']], [false, 409]);
      }
      for (const operation of [COPY, MOVE]) {
        const below = { ...operation, body: { ...operation.body, destination: 'a/b' } };
        const { last } = linesOf(await sendOperation(port, below, NDJSON));
        assert.deepEqual([last['success'], last['status']], [false, 400]);
      }
      assert.deepEqual(await treeOf(port), { 'a/': null, 'a/x': '1', 'b/': null, 'b/x': 'other' });
    });
  });
}
