import { bare, memory } from '../contract/backend.ts';
import { trashSuite, withoutTrashSuite } from './stores/trash.ts';
import { versionsSuite } from './stores/versions.ts';

trashSuite(memory);
withoutTrashSuite(memory);
withoutTrashSuite(bare);
versionsSuite(memory);
