import { testDiskTransfers } from './flat-memory.ts';
import { MIB } from './pattern.ts';

testDiskTransfers(256 * MIB);
