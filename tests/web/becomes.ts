import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { until } from '../../testing/until.ts';

/**
 * Looks again and again until `look` gives what is expected: what a page shows, and a service has stored, comes in the
 * moment after what is done about it. Where it does not come for as long as `until` waits, this fails as `deepEqual`
 * does, by what was seen last.
 */
export async function becomes<Value>(look: () => Value | Promise<Value>, expected: NoInfer<Value>): Promise<void> {
  let last: Value | undefined;
  try {
    await until('it is as expected', async () => {
      last = await look();
      return isDeepStrictEqual(last, expected);
    });
  } catch (error) {
    if (error instanceof assert.AssertionError) assert.deepEqual(last, expected);
    throw error;
  }
}
