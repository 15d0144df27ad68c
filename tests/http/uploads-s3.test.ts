import { describe } from 'node:test';
import { s3 } from '../contract/backend.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { resumableUploadsSuite } from './resumable-uploads.ts';

export const needs: readonly Need[] = ['bucket'];

// A bucket with tus-js-client, and with parts from a client: tests/http/upload-clients-s3.test.ts, direct-uploads.test.ts.
describe('Uploads to a bucket', IN_FULL_FORM_ONLY, () => resumableUploadsSuite(s3));
