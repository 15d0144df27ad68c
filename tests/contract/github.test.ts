import { github, shareWithinFile } from './backend.ts';
import { optionalContract } from './optional.ts';
import { storeContract } from './suite.ts';

const backend = shareWithinFile(github);
storeContract(backend);
optionalContract(backend);
