import { isFullForm } from '../full-forms.ts';
import type { Need } from '../runner/needs.ts';
import { s3Versioned, shareWithinFile } from './backend.ts';
import { optionalContract } from './optional.ts';

export const needs: readonly Need[] = ['bucket'];

// Versions are objects of the bucket here. The other members are always tested in a bucket without object versions.
optionalContract(shareWithinFile(s3Versioned), {
  trash: isFullForm,
  members: isFullForm,
  uploads: isFullForm,
});
