import { disk, memory } from '../contract/backend.ts';
import { resumableUploadsSuite } from './resumable-uploads.ts';

resumableUploadsSuite(disk);
// The content arrives in the database.
resumableUploadsSuite(memory);
