import { testLargeFolders } from '../stores/large-folders.ts';

// As in tests/stores/s3-large-folders.test.ts, with the pages of Amazon S3.
testLargeFolders({ pageSize: 1000, folders: 400, filesInEach: 60 });
