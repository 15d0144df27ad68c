import { testDiskTransfers } from './flat-memory.ts';
import { MIB } from './pattern.ts';

// Larger than what the service may need. With gigabytes, and to other stores: tests/long/memory.test.ts.
testDiskTransfers(144 * MIB);
