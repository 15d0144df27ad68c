import { github } from '../contract/backend.ts';
import type { Need } from '../runner/needs.ts';
import { resumableUploadsSuite } from './resumable-uploads.ts';

export const needs: readonly Need[] = ['git'];

resumableUploadsSuite(github);
