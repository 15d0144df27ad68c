import { s3, shareWithinFile } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

const backend = shareWithinFile(s3);
storeContract(backend);
optionalContract(backend);
