import { github, shareWithinFile } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { trashSuite } from './stores/trash.ts';
import { versionsSuite } from './stores/versions.ts';

export const needs: readonly Need[] = ['git'];

const shared = shareWithinFile(github);

trashSuite(shared, { hasAll: false });
versionsSuite(shared, { hasAll: false });
