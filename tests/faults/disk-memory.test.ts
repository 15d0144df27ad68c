import { isFullForm } from '../full-forms.ts';
import { testDiskTransfers, testPropfind } from './flat-memory.ts';
import { MIB } from './pattern.ts';

testDiskTransfers(isFullForm ? 192 * MIB : 144 * MIB);
testPropfind(100_000);
