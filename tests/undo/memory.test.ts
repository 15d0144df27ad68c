import { memory } from '../contract/backend.ts';
import { testUndo } from './suite.ts';

testUndo(memory);
