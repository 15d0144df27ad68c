import type { Need } from '../runner/needs.ts';
import { testInterruptedDownloads } from './interrupted.ts';

export const needs: readonly Need[] = ['curl', 'zip-readers'];

testInterruptedDownloads('a disk', { count: 4, largeBytes: 3_000_000, smallFiles: 40 });
