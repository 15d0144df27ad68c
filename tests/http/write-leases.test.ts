import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { WriteLeases } from '../../src/uploads/write-lease.ts';

/** A table with one lease, which a request of another process has. */
function heldByAnother() {
  let writer: string | undefined = 'another';
  return {
    release: () => void (writer = undefined),
    uploads: {
      async claim(_id: string, by: string) {
        if (writer !== undefined) return false;
        writer = by;
        return true;
      },
      renew: async () => 'held' as const,
      release: async () => void (writer = undefined),
    },
  };
}

describe('The lease of a resumable upload', () => {
  it('is not claimed by a waiting request whose client has left', async () => {
    const table = heldByAnother();
    const leases = new WriteLeases(table.uploads, { leaseMs: 5000, waitMs: 60_000 });
    const client = new AbortController();
    const waiting = leases.run('id', async () => 'ran', { signal: client.signal });
    client.abort();
    table.release();
    await assert.rejects(waiting, { code: 'upload-in-use' });
    assert.equal(await leases.run('id', async () => 'ran'), 'ran');
  });
});
