import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { StoreError } from '../../../src/model/error.ts';
import { memory } from '../../contract/backend.ts';
import { assertFailure, assertSuccess, plant, postJson, send, treeOf } from '../client.ts';
import { failing } from '../failing-store.ts';
import { ALL, COPY, linesOf, NDJSON, resultOf, sendOperation, source, TRANSFERS } from '../folder-operations.ts';
import { served, servedEmpty } from '../service.ts';

describe('progress of folder operations', () => {
  const service = servedEmpty(memory);
  let port: number;
  let fault: Error;
  const faulty = served(memory, { wrap: failing(() => fault) });

  beforeEach(() => {
    ({ port } = service);
  });

  for (const operation of ALL) {
    it(`${operation.name} returns only the envelope to a client that does not accept NDJSON`, async () => {
      const others = ['*/*', 'application/*', 'application/json', 'application/x-ndjson;q=0'];
      for (const accept of [undefined, ...(operation === COPY ? others : [])]) {
        await plant(port, source('a'));
        assertSuccess(await sendOperation(port, operation, accept), operation.success);
        assert.deepEqual(await treeOf(port), resultOf(operation));
        await send(port, '/delete_folder/b', { method: 'DELETE' });
      }
    });

    it(`${operation.name} returns a failure with its status as the last line`, async () => {
      const response = await sendOperation(port, operation, `text/html, ${NDJSON}; q=0.5`);
      assert.equal(response.status, 200);
      const { progress, last } = linesOf(response);
      assert.deepEqual(
        [progress, last],
        [[], { success: false, code: 'not-found', error: 'The folder "a/" does not exist.', status: 404 }],
      );
    });

    it(`${operation.name} returns an unexpected error with only the request id as the last line, and logs it`, async () => {
      fault = new Error('secret');
      const response = await sendOperation(faulty.port, operation, NDJSON);
      const id = String(response.headers['x-request-id']);
      const error = `Internal error. Search the log of the service for the request ID ${id}.`;
      assert.deepEqual(linesOf(response), {
        progress: [],
        last: { success: false, code: 'internal-error', error, status: 500 },
      });
      const logged = faulty.log.filter((line) => line['requestId'] === id && line['level'] === 50);
      assert.equal(logged.length, 1);
      assert.match(JSON.stringify(logged), /secret/);
    });

    it(`${operation.name} returns 503 as the last line for an unreachable store`, async () => {
      fault = new StoreError('unavailable', 'The store is unreachable.', { retryAfter: 9 });
      const { last } = linesOf(await sendOperation(faulty.port, operation, NDJSON));
      assert.deepEqual(last, { success: false, code: 'unavailable', error: 'The store is unreachable.', status: 503 });
    });
  }

  it('returns only the envelope for single files', async () => {
    await plant(port, { a: '1' });
    for (const [path, body, message] of [
      ['/copy', { source: 'a', destination: 'b', is_folder: false }, 'Item copied successfully'],
      ['/move', { source: 'a', destination: 'c', is_folder: false }, 'Item moved successfully'],
      ['/create_folder', { path: 'f' }, 'Folder created successfully'],
    ] as const) {
      assertSuccess(await postJson(port, path, body, { accept: NDJSON }), { message });
    }
  });

  it('returns 400 for invalid requests', async () => {
    for (const operation of TRANSFERS) {
      assertFailure(await postJson(port, operation.path, {}, { accept: NDJSON }), 400, /lacks/);
      assertFailure(await postJson(port, operation.path, [], { accept: NDJSON }), 400, /must be a JSON object/);
    }
  });
});
