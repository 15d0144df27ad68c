import { describe } from 'node:test';
import { memory } from '../contract/backend.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import { storeSuite } from './stores/all.ts';

// In `npm test`, tests/http/disk.test.ts has these tests, and those in protocol/ use the memory store.
describe('A store in memory', IN_FULL_FORM_ONLY, () => storeSuite(memory));
