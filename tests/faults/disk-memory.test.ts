import { testDiskTransfers } from './flat-memory.ts';
import { MIB } from './pattern.ts';

testDiskTransfers(192 * MIB);
