import { memory } from '../contract/backend.ts';
import { httpSuite } from './suite/all.ts';

httpSuite(memory);
