import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import { parseFile } from '../../src/model/path.ts';
import { serveProxied } from '../../testing/servers/proxied-bucket.ts';
import { COST_CASES, type Cost, costOf } from '../../testing/servers/s3-costs.ts';
import type { S3Request, Verdict } from '../../testing/servers/s3-proxy.ts';

const DOCUMENTATION = new URL('../../docs/reference/stores-s3.md', import.meta.url);

/** Tests the documented costs of some requests to a bucket, or of all. */
export function testBucketCosts(names?: readonly string[]): void {
  describe('The documented number of S3 requests', () => {
    for (const { name, plant, request } of COST_CASES) {
      if (names && !names.includes(name)) continue;
      it(`matches the requests sent: ${name}`, async (t) => {
        const { bucket, proxy, port, store } = await serveProxied(t, { minPartBytes: 8 * 2 ** 20 });
        await plant?.(bucket, port, store);
        // The store remembers for some minutes whether the bucket has object versions.
        await store.listVersions?.(parseFile('a'));
        proxy.forget();
        proxy.intercept(withEtag);
        const { status } = await request(port);
        assert.ok(status < 400, `The status is ${status}.`);
        const operations = proxy.requests.map(({ operation }) => operation);
        const cost = costOf(proxy.requests);
        assert.deepEqual((await readCosts()).get(name), cost, `${name}: ${operations.join(', ')}`);
      });
    }

    it('is listed for exactly these cases', async () => {
      assert.deepEqual([...(await readCosts()).keys()].toSorted(), COST_CASES.map(({ name }) => name).toSorted());
    });
  });
}

/** Ceph 16 omits the ETag from CompleteMultipartUpload, which costs a HeadObject. The table assumes stores that send it. */
function withEtag({ operation }: S3Request): Verdict {
  if (operation !== 'CompleteMultipartUpload') return undefined;
  return { rewrite: (body) => body.replace('<ETag></ETag>', '<ETag>"of-parts"</ETag>') };
}

/** Reads the cost table: each case with its number of class A and class B requests. */
async function readCosts(): Promise<ReadonlyMap<string, Cost>> {
  const page = await readFile(DOCUMENTATION, 'utf8');
  const section = page.split(/^#+ /m).find((text) => /^.*\bcosts?\b/i.test(text.split('\n')[0] ?? '')) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  const cells = rows.slice(2).map((row) => row.split('|').map((cell) => cell.trim()));
  return new Map(cells.map(([, name = '', a, b]) => [name.replace(/ [¹²]$/, ''), { a: Number(a), b: Number(b) }]));
}
