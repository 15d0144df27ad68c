import { s3 } from '../contract/backend.ts';
import { httpSuite } from './suite/all.ts';

httpSuite(s3);
