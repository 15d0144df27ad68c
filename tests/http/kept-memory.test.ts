import { describe } from 'node:test';
import { bare, memory } from '../contract/backend.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import { trashSuite, withoutTrashSuite } from './stores/trash.ts';
import { versionsSuite } from './stores/versions.ts';

withoutTrashSuite(bare);
// In `npm test`, tests/http/kept-disk.test.ts has these tests.
describe('A store in memory', IN_FULL_FORM_ONLY, () => {
  trashSuite(memory);
  withoutTrashSuite(memory);
  versionsSuite(memory);
});
