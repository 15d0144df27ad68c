import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findStoredFile } from '../../../web/src/model/lost-responses.ts';
import type { Listing } from '../../../web/src/platform/service/service.ts';

const SINCE = Date.parse('2026-03-01T12:00:00.000Z');

/** Returns a service that lists one file of five bytes. */
const serviceWith = (modified: string | null) => ({
  list: async (): Promise<Listing> => ({
    success: true,
    prefix: 'to/',
    entries: [{ type: 'file', path: 'to/a.txt', name: 'a.txt', size: 5, modified, contentType: '', etag: '"1"' }],
  }),
});

describe('A file that was stored although the response was lost', () => {
  const find = async (modified: string | null, expected: Partial<Parameters<typeof findStoredFile>[1]> = {}) => {
    const found = await findStoredFile(serviceWith(modified), { path: 'to/a.txt', size: 5, since: SINCE, ...expected });
    return found?.path;
  };

  it('is recognized by its size and by a time since the request', async () => {
    assert.equal(await find('2026-03-01T12:00:01.000Z'), 'to/a.txt');
    assert.equal(await find('2026-03-01T12:00:01.000Z', { size: 6 }), undefined);
    assert.equal(await find('2026-03-01T12:00:01.000Z', { path: 'to/b.txt' }), undefined);
    assert.equal(await find(null), undefined);
  });

  it('can have a time up to two seconds before the request, but no earlier one', async () => {
    assert.equal(await find('2026-03-01T11:59:58.000Z'), 'to/a.txt');
    assert.equal(await find('2026-03-01T11:59:57.000Z'), undefined);
  });

  it('can have the time of the uploaded file', async () => {
    const modified = Date.parse('2020-01-01T00:00:00.700Z');
    assert.equal(await find('2020-01-01T00:00:00.000Z', { modified }), 'to/a.txt');
    assert.equal(await find('2020-01-01T00:00:03.000Z', { modified }), undefined);
  });

  it('can have any time or none after a move, which keeps the time', async () => {
    const service = serviceWith(null);
    assert.equal((await findStoredFile(service, { path: 'to/a.txt', size: 5 }))?.path, 'to/a.txt');
    assert.equal(await findStoredFile(service, { path: 'to/a.txt', size: 6 }), undefined);
  });
});
