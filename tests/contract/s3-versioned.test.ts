import type { Need } from '../runner/needs.ts';
import { s3Versioned, shareWithinFile } from './backend.ts';
import { capabilitiesContract } from './optional.ts';
import { versionsContract } from './versions.ts';

export const needs: readonly Need[] = ['bucket'];

// Versions are objects of the bucket here. The other members are tested in a bucket without object versions.
const backend = shareWithinFile(s3Versioned);
capabilitiesContract(backend);
versionsContract(backend);
