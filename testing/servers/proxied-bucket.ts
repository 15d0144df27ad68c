import type { TestContext } from 'node:test';
import type { Store } from '../../src/model/store.ts';
import type { S3Options } from '../../src/stores/s3/bucket.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { s3 } from '../../tests/contract/backend.ts';
import { startService, type TestService } from '../../tests/http/service.ts';
import { createBucket, type TestBucket } from './bucket.ts';
import { testObjectStore } from './object-store.ts';
import { type S3Proxy, startS3Proxy } from './s3-proxy.ts';

/** A bucket of one test, and a store that reaches it only through a proxy. */
export interface ProxiedBucket {
  readonly bucket: TestBucket;
  readonly proxy: S3Proxy;
  readonly store: Store;
  /** The warnings of the store. */
  readonly warnings: readonly { readonly message: string; readonly details: object }[];
}

/** Opens the store. It is removed at the end of the test. */
export async function openProxied(t: TestContext, options: Partial<S3Options> = {}): Promise<ProxiedBucket> {
  const opened = await open(options);
  t.after(() => close(opened));
  return opened;
}

/** Also starts the service on it. */
export async function serveProxied(
  t: TestContext,
  options: Partial<S3Options> = {},
): Promise<ProxiedBucket & Pick<TestService, 'port' | 'log'>> {
  const opened = await open(options);
  const backend = {
    ...s3,
    open: async () => ({ store: opened.store, close: () => close(opened) }),
  };
  const { port, log, stop } = await startService(backend, { hasJobs: true });
  t.after(stop);
  return { ...opened, port, log };
}

async function open(options: Partial<S3Options>): Promise<ProxiedBucket> {
  const bucket = await createBucket();
  const proxy = await startS3Proxy(testObjectStore());
  const warnings: { message: string; details: object }[] = [];
  const warn = (message: string, details: object) => void warnings.push({ message, details });
  const store = openS3({ ...bucket.settings, endpoint: proxy.url, warn, ...options });
  return { bucket, proxy, store, warnings };
}

async function close({ bucket, proxy, store }: ProxiedBucket): Promise<void> {
  await store.close?.();
  await bucket.remove();
  await proxy.stop();
}
