/*
 * A second real object store, whose S3 API differs from Ceph's: it rejects every condition on PutObject. Its start takes a minute.
 */

import { after } from 'node:test';
import { startSwift } from '../../testing/servers/swift.ts';
import { type Backend, bucketBackend, s3, shareWithinFile } from '../contract/backend.ts';
import { optionalContract } from '../contract/optional.ts';
import { storeContract } from '../contract/suite.ts';
import { wireSuite } from '../http/stores/wire.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['swift'];

const swift = await startSwift();

const backend: Backend = shareWithinFile({
  ...s3,
  ...bucketBackend(() => swift),
  name: 'swift',
  lacks: {
    ...s3.lacks,
    'atomic-conditions': 'Swift 2.30 rejects conditions on PutObject, so Holdall checks them before it writes',
    'past-times': 'Swift rounds Last-Modified up to the next second',
  },
});
// `after` hooks run in the order of their registration: the buckets are removed first.
after(() => swift.stop());

storeContract(backend);
optionalContract(backend);
wireSuite(backend);
