/*
 * The HTTP suite as a visitor of a share link, on the stores with files, objects and commits: tests/http/visited.test.ts runs it on
 * the memory store. A path that a link of one store translates wrongly would be found only here.
 */

import { disk, github, s3, shareWithinFile } from '../contract/backend.ts';
import { visited } from '../http/service.ts';
import { fetchSuite } from '../http/stores/fetch.ts';
import { isolationSuite } from '../http/stores/isolation.ts';
import { listingSuite } from '../http/stores/listing.ts';
import { thumbnailsSuite } from '../http/stores/thumbnails.ts';
import { uploadSuite } from '../http/stores/upload.ts';
import type { Need } from '../runner/needs.ts';

export const needs: readonly Need[] = ['bucket', 'git'];

for (const store of [disk, shareWithinFile(s3), shareWithinFile(github)]) {
  const backend = visited(store);
  uploadSuite(backend);
  listingSuite(backend);
  fetchSuite(backend);
  isolationSuite(backend);
  thumbnailsSuite(backend);
}
