import { randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import type { Store } from '../../src/model/store.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { CONCURRENT_TESTS } from '../../testing/concurrent-tests.ts';
import { createBucket, type TestBucket } from '../../testing/servers/bucket.ts';
import { testObjectStore } from '../../testing/servers/object-store.ts';
import { expireLeases } from '../../testing/servers/objects.ts';
import { errorResponse, startS3Proxy } from '../../testing/servers/s3-proxy.ts';
import { until } from '../../testing/until.ts';
import { type Fault, testInterruptedJobs } from './interrupted.ts';

/** Tests jobs on a bucket that are interrupted at their steps: one of so many, in all scenarios or those with these names. */
export function testInterruptedOnBucket(oneOf: number, scenarios?: readonly string[]): void {
  let bucket: TestBucket;
  before(async () => {
    bucket = await createBucket();
  });
  after(() => bucket.remove());

  testInterruptedJobs('s3', {
    interruptions: ['killed', 'outage', 'suspended'],
    concurrency: CONCURRENT_TESTS,
    scenarios,
    oneOf,
    takesNewContent: false,
    async create() {
      const proxy = await startS3Proxy(testObjectStore());
      const prefix = `${randomUUID()}/`;
      const stores: Store[] = [];
      const open = async (fault?: Fault) => {
        const endpoint = fault ? proxy.url : bucket.settings.endpoint;
        const store = openS3({ ...bucket.settings, endpoint, prefix, warn: () => {} });
        stores.push(store);
        if (!fault) return store;
        proxy.intercept(async ({ method }) => {
          const isStep = method !== 'GET' && method !== 'HEAD';
          return (await fault.fails({ isStep })) ? errorResponse(403, 'AccessDenied') : undefined;
        });
        return store;
      };
      return {
        open,
        async settle() {
          const { now } = await open();
          const created = (await now?.())?.getTime() ?? 0;
          await until('the next second', async () => ((await now?.())?.getTime() ?? 0) > created);
        },
        expireLeases: () => expireLeases({ bucket }, prefix),
        async remove() {
          for (const store of stores) await store.close?.();
          await proxy.stop();
        },
      };
    },
  });
}
