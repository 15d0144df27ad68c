import { disk } from '../contract/backend.ts';
import { testUndo } from './suite.ts';

testUndo(disk);
