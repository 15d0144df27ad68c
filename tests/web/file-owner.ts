import { after } from 'node:test';
import type { Owner } from '../../testing/holdall.ts';

const endings: (() => Promise<void>)[] = [];

// Registered when the module loads, because `after` inside a test belongs to that test.
after(async () => {
  for (const end of endings.toReversed()) await end();
});

/** Owns what the tests of a file share: it ends after the last test of the file. */
export const testFile: Owner = { after: (end) => void endings.push(end) };
