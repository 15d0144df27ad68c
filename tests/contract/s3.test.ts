import { s3 } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

storeContract(s3);
optionalContract(s3);
