import type { TestContext } from 'node:test';
import type { Store } from '../../src/model/store.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { type Interceptor, type S3Proxy, startS3Proxy } from './s3-proxy.ts';

/** A store whose requests get only the responses of a test. No object store runs behind it. */
export interface FakeBucket {
  readonly store: Store;
  /** Records the requests. The test determines the responses. */
  readonly proxy: S3Proxy;
}

/** Opens a store until the end of the test. A request that gets no response from `respond` fails. */
export async function openFakeBucket(t: TestContext, respond?: Interceptor): Promise<FakeBucket> {
  // No server listens on this port.
  const proxy = await startS3Proxy({ endpoint: 'http://127.0.0.1:1' });
  proxy.intercept(respond);
  const store = openS3({
    bucket: 'bucket',
    endpoint: proxy.url,
    region: 'us-east-1',
    credentials: { accessKeyId: 'key', secretAccessKey: 'secret' },
    addressing: 'path',
    publicUrl: undefined,
    concurrency: 64,
    warn: () => {},
  });
  t.after(async () => {
    await store.close?.();
    await proxy.stop();
  });
  return { store, proxy };
}
