import { github, shareWithinFile } from '../contract/backend.ts';
import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { remoteStoreSuite, storeSuite } from './stores/all.ts';

export const needs: readonly Need[] = ['git'];

const shared = shareWithinFile(github);

if (isFullForm) storeSuite(shared);
else remoteStoreSuite(shared);
