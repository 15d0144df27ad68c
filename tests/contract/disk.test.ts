import { disk } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

storeContract(disk);
optionalContract(disk);
