import { describe } from 'node:test';
import { s3, shareWithinFile } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { plant } from './client.ts';
import { MOVE } from './folder-operations.ts';
import { served } from './service.ts';
import { interruptionSuite } from './stores/composed.ts';
import { wireSuite } from './stores/wire.ts';

export const needs: readonly Need[] = ['bucket'];

const shared = shareWithinFile(s3);

wireSuite(shared);

// The other stores change a folder at once, or use the operations that tests/http/bare.test.ts tests.
describe('Folder operations in a bucket', () => {
  const service = served(shared);
  interruptionSuite(
    async (tree) => {
      await service.empty();
      await plant(service.port, tree);
      return service;
    },
    [MOVE],
  );
});
