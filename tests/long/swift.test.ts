import { after } from 'node:test';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { type Backend, s3 } from '../contract/backend.ts';
import { optionalContract } from '../contract/optional.ts';
import { storeContract } from '../contract/suite.ts';
import { httpSuite } from '../http/suite/all.ts';
import type { Need } from '../runner/needs.ts';
import { createBucket } from '../servers/bucket.ts';
import { startSwift } from '../servers/swift.ts';

export const needs: readonly Need[] = ['swift'];

// A second real object store, whose S3 interface differs from Ceph's: it rejects every condition on PutObject.

const swift = await startSwift();
after(() => swift.stop());

const backend: Backend = {
  ...s3,
  name: 'swift',
  async open() {
    const bucket = await createBucket(swift);
    const store = openS3({ ...bucket.settings, warn: () => {} });
    const close = async () => {
      await store.close?.();
      await bucket.remove();
    };
    return { store, close };
  },
  lacks: {
    ...s3.lacks,
    'atomic-conditions': 'Swift 2.30 rejects conditions on PutObject, so Holdall checks them before it writes',
    'past-times': 'Swift rounds Last-Modified up to the next second',
  },
};

storeContract(backend);
optionalContract(backend);
httpSuite(backend);
