import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { it } from 'node:test';
import { Md5 } from '../../../web/src/platform/md5.ts';

it('The MD5 of a content is the same for chunks of any size', () => {
  // The padding adds a block from 56 bytes on, and the buffer has 64 KiB.
  for (const size of [0, 1, 55, 56, 63, 64, 65, 119, 120, 65_535, 65_536, 65_600, 200_001]) {
    const bytes = randomBytes(size);
    const expected = createHash('md5').update(bytes).digest('base64');
    for (const chunk of [size + 1, 70_000, 1_001, 64]) {
      const md5 = new Md5();
      for (let start = 0; start < size; start += chunk) md5.update(bytes.subarray(start, start + chunk));
      assert.equal(md5.digest(), expected, `${size} bytes in chunks of ${chunk}`);
    }
  }
});
