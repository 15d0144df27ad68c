import { memory } from '../contract/backend.ts';
import { storeSuite } from './stores/all.ts';

storeSuite(memory);
