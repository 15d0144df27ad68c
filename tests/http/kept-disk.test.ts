import { disk } from '../contract/backend.ts';
import { trashSuite, withoutTrashSuite } from './stores/trash.ts';
import { versionsSuite } from './stores/versions.ts';

trashSuite(disk);
withoutTrashSuite(disk);
versionsSuite(disk);
