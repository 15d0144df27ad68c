import { github } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

storeContract(github);
optionalContract(github);
