import { memory } from '../contract/backend.ts';
import { isFullForm } from '../full-forms.ts';
import { storeSuite } from './stores/all.ts';

// In `npm test`, tests/http/disk.test.ts has these tests, and those in protocol/ use the memory store.
if (isFullForm) storeSuite(memory);
