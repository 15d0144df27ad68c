import { testDiskTransfers, testPropfind } from './flat-memory.ts';
import { MIB } from './pattern.ts';

testDiskTransfers(192 * MIB);
testPropfind(100_000);
