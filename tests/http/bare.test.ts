import { bare } from '../contract/backend.ts';
import { isFullForm } from '../full-forms.ts';
import { operationsSuite } from './stores/all.ts';
import { composedSuite } from './stores/composed.ts';
import { journeySuite } from './stores/journey.ts';

// In `npm test`, the composed operations, and each other one once.
if (isFullForm) operationsSuite(bare);
else journeySuite(bare);
composedSuite(bare);
