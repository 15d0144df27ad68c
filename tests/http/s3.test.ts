import { s3, shareWithinFile } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { storeSuite } from './stores/all.ts';

export const needs: readonly Need[] = ['bucket'];

storeSuite(shareWithinFile(s3));
