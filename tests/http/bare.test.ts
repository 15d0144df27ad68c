import { bare } from '../contract/backend.ts';
import { operationsSuite } from './stores/all.ts';
import { composedSuite } from './stores/composed.ts';

operationsSuite(bare);
composedSuite(bare);
