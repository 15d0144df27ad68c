/*
 * As tests/stores/s3-large-folders.test.ts, with the pages of Amazon S3: the only test in which a listing has many pages of a
 * real size. It creates 24,000 objects.
 */

import { testLargeFolders } from '../stores/large-folders.ts';

testLargeFolders({ pageSize: 1000, folders: 400, filesInEach: 60 });
