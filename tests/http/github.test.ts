import { github } from '../contract/backend.ts';
import { httpSuite } from './suite/all.ts';

httpSuite(github);
