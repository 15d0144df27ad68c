import { testSwappedLinks } from './links-swapped.ts';

// With more rounds: tests/long/links-swapped.test.ts.
testSwappedLinks({ files: 6, folders: 8, trees: 1 });
