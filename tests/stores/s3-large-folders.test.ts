import { testLargeFolders } from './large-folders.ts';

testLargeFolders({ pageSize: 20, folders: 40, filesInEach: 12 });
