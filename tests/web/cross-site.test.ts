import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Need } from '../runner/needs.ts';
import { fetchAll } from './assaults.ts';
import { begin, contents, SECRET, testForeignPages } from './foreign-pages.ts';

export const needs: readonly Need[] = ['browser'];

// tests/long/cross-site.test.ts has the other combinations. tests/http/local.test.ts tests the decision by headers.
testForeignPages([
  // The browser sends the session, because both are the same site, and no Fetch Metadata without HTTPS.
  {
    name: 'signed in, a sibling of a site without HTTPS',
    service: 'files.test',
    hostile: 'evil.files.test',
    as: 'session',
  },
]);

it('A page whose host name was rebound to this machine is not same-origin', async (t) => {
  const { port, root, context } = await begin(t, { service: '127.0.0.1', as: 'anonymous' });
  const planted = await contents(root);
  const page = await context.newPage();
  const response = await page.goto(`http://evil.test:${port}/`);
  assert.equal(response?.status(), 403);
  // The origin of this page is the rebound name, so the browser lets it read all responses.
  const read = await page.evaluate(fetchAll, `http://evil.test:${port}/`);
  assert.ok(read.length > 20);
  for (const text of read) assert.match(text, /: 403 /);
  assert.ok(!read.join().includes(SECRET));
  assert.deepEqual(await contents(root), planted);
});
