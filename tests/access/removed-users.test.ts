import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPolicy, type Policy } from '../../src/access/policy.ts';
import { RemovedUsers } from '../../src/access/removed-users.ts';
import { StoreError } from '../../src/model/error.ts';
import { until } from '../../testing/until.ts';

describe('The end of links and app tokens of removed users', () => {
  it('applies each version of the access file in order, also after an outage of the database', async (t) => {
    const [atStart, without, later] = Array.from({ length: 3 }, () => createPolicy([], []));
    const applied: (Policy | undefined)[] = [];
    let isDown = true;
    const end = async (policy: Policy) => {
      if (isDown) throw new StoreError('database-unavailable', 'The database is unavailable.');
      applied.push(policy);
    };
    const users = new RemovedUsers({
      ends: [end, end],
      policy: atStart ?? assert.fail(),
      log: { error: (_details, message) => assert.fail(message) },
    });
    t.after(() => users.stop());
    users.start();
    users.note(without ?? assert.fail());
    users.note(later ?? assert.fail());
    isDown = false;
    await until('all versions are applied', () => applied.length === 6);
    assert.deepEqual(
      applied.map((policy) => [atStart, without, later].indexOf(policy)),
      [0, 0, 1, 1, 2, 2],
    );
  });
});
