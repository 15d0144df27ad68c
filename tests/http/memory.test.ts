import { bare, memory } from '../contract/backend.ts';
import { conditionsSuite } from './stores/conditions.ts';
import { contentOriginSuite } from './stores/content-origin.ts';
import { fetchSuite } from './stores/fetch.ts';
import { filesSuite } from './stores/files.ts';
import { foldersSuite } from './stores/folders.ts';
import { listingSuite } from './stores/listing.ts';
import { namesSuite } from './stores/names.ts';
import { progressSuite } from './stores/progress.ts';
import { putSuite } from './stores/put.ts';
import { thumbnailsSuite } from './stores/thumbnails.ts';
import { transferSuite } from './stores/transfer.ts';
import { trashSuite, withoutTrashSuite } from './stores/trash.ts';
import { uploadSuite } from './stores/upload.ts';
import { versionsSuite } from './stores/versions.ts';
import { zipSuite } from './stores/zip.ts';

// What the HTTP API does with files, on the reference store.

uploadSuite();
putSuite();
listingSuite();
fetchSuite();
contentOriginSuite(memory);
thumbnailsSuite();
namesSuite();
conditionsSuite();
zipSuite();
trashSuite();
versionsSuite();

// `Files` composes the operations that a store lacks from those that each store has.
for (const backend of [memory, bare]) {
  filesSuite(backend);
  foldersSuite(backend);
  transferSuite(backend);
  progressSuite(backend);
  withoutTrashSuite(backend);
}
