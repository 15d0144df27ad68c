import { testInterruptedOnDisk } from './interrupted-disk.ts';

// tests/long interrupts every step.
testInterruptedOnDisk(8);
