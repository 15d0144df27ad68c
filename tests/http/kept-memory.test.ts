import { bare, memory } from '../contract/backend.ts';
import { isFullForm } from '../full-forms.ts';
import { trashSuite, withoutTrashSuite } from './stores/trash.ts';
import { versionsSuite } from './stores/versions.ts';

withoutTrashSuite(bare);
// In `npm test`, tests/http/kept-disk.test.ts has these tests.
if (isFullForm) {
  trashSuite(memory);
  withoutTrashSuite(memory);
  versionsSuite(memory);
}
