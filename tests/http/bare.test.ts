import { bare } from '../contract/backend.ts';
import { httpSuite } from './suite/all.ts';

httpSuite(bare);
