import { disk } from './backend.ts';
import { storeContract } from './suite.ts';

storeContract(disk);
