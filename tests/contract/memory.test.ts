import { memory } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

storeContract(memory);
optionalContract(memory);
