import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { until } from '../../testing/until.ts';

/**
 * Waits until `read` returns the expected value, because pages and services react to an action only a moment later. After
 * the timeout of `until`, fails like `deepEqual` with the last value.
 */
export async function becomes<Value>(read: () => Value | Promise<Value>, expected: NoInfer<Value>): Promise<void> {
  let last: Value | undefined;
  try {
    await until('the value is as expected', async () => {
      last = await read();
      return isDeepStrictEqual(last, expected);
    });
  } catch (error) {
    if (error instanceof assert.AssertionError) assert.deepEqual(last, expected);
    throw error;
  }
}
