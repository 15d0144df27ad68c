import { memory } from '../contract/backend.ts';
import { isFullForm } from '../full-forms.ts';
import { remoteStoreSuite, storeSuite } from './stores/all.ts';

// tests/http/disk.test.ts always has the tests of all names, formats and sizes.
if (isFullForm) storeSuite(memory);
else remoteStoreSuite(memory);
