import { disk } from '../contract/backend.ts';
import { resumableUploadsSuite } from './resumable-uploads.ts';

resumableUploadsSuite(disk);
