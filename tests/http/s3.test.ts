import { describe } from 'node:test';
import { s3, shareWithinFile } from '../contract/backend.ts';
import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { plant } from './client.ts';
import { COPY, MOVE, startWith } from './folder-operations.ts';
import { remoteStoreSuite, storeSuite } from './stores/all.ts';
import { interruptionSuite } from './stores/composed.ts';

export const needs: readonly Need[] = ['bucket'];

const shared = shareWithinFile(s3);

if (isFullForm) storeSuite(shared);
else remoteStoreSuite(shared);

// The other stores change a folder at once, or use the operations that tests/http/bare.test.ts tests.
describe('Folder operations in a bucket', () => {
  interruptionSuite(
    async (test, tree) => {
      const service = await startWith(shared, test);
      await plant(service.port, tree);
      return service;
    },
    isFullForm ? [COPY, MOVE] : [MOVE],
  );
});
