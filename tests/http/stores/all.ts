import type { Backend } from '../../contract/backend.ts';
import { conditionsSuite } from './conditions.ts';
import { fetchSuite } from './fetch.ts';
import { filesSuite } from './files.ts';
import { foldersSuite } from './folders.ts';
import { isolationSuite } from './isolation.ts';
import { journeySuite } from './journey.ts';
import { listingSuite } from './listing.ts';
import { namesSuite } from './names.ts';
import { progressSuite } from './progress.ts';
import { putSuite } from './put.ts';
import { thumbnailsSuite } from './thumbnails.ts';
import { transferSuite } from './transfer.ts';
import { uploadSuite } from './upload.ts';
import { zipSuite } from './zip.ts';

/** Tests the HTTP API for everything that a store can affect. `protocol/` tests the rest once, on the memory store. */
export function storeSuite(backend: Backend): void {
  uploadSuite(backend);
  putSuite(backend);
  listingSuite(backend);
  fetchSuite(backend);
  isolationSuite(backend);
  thumbnailsSuite(backend);
  namesSuite(backend);
  conditionsSuite(backend);
  zipSuite(backend);
  operationsSuite(backend);
}

/**
 * Tests the HTTP API for what a remote store can affect in ways that the contract of stores does not show: bodies,
 * conditions and redirects. Operations are tested once each; `npm run test:long` runs `storeSuite` instead.
 */
export function remoteStoreSuite(backend: Backend): void {
  uploadSuite(backend);
  putSuite(backend);
  fetchSuite(backend);
  // The service does not choose the type and the name of a file at the other URLs.
  if (!backend.lacks['urls-of-downloads']) isolationSuite(backend);
  zipSuite(backend);
  journeySuite(backend);
}

/** Tests the operations on files and folders. `Files` composes those that a store lacks. */
export function operationsSuite(backend: Backend): void {
  filesSuite(backend);
  foldersSuite(backend);
  transferSuite(backend);
  progressSuite(backend);
}
