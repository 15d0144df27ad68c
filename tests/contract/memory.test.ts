import { memory } from './backend.ts';
import { storeContract } from './suite.ts';

storeContract(memory);
