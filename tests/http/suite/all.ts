import type { Backend } from '../../contract/backend.ts';
import { errorsSuite } from './errors.ts';
import { fetchSuite } from './fetch.ts';
import { filesSuite } from './files.ts';
import { foldersSuite } from './folders.ts';
import { isolationSuite } from './isolation.ts';
import { listingSuite } from './listing.ts';
import { namesSuite } from './names.ts';
import { progressSuite } from './progress.ts';
import { signedSuite } from './signed.ts';
import { thumbnailsSuite } from './thumbnails.ts';
import { transferSuite } from './transfer.ts';
import { uploadSuite } from './upload.ts';

/** What the interface promises, on any store, by requests to a service that listens. */
export function httpSuite(backend: Backend): void {
  uploadSuite(backend);
  listingSuite(backend);
  fetchSuite(backend);
  signedSuite(backend);
  isolationSuite(backend);
  thumbnailsSuite(backend);
  filesSuite(backend);
  foldersSuite(backend);
  transferSuite(backend);
  namesSuite(backend);
  progressSuite(backend);
  errorsSuite(backend);
}
