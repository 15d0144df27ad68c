import { s3, shareWithinFile } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { trashSuite, withoutTrashSuite } from './stores/trash.ts';
import { versionsSuite } from './stores/versions.ts';

export const needs: readonly Need[] = ['bucket'];

const shared = shareWithinFile(s3);

trashSuite(shared, { hasAll: false });
withoutTrashSuite(shared);
versionsSuite(shared, { hasAll: false });
