import { testSwappedLinks } from './links-swapped.ts';

// With more rounds: tests/long/links-swapped.test.ts.
testSwappedLinks({ files: 2, folders: 2, trees: 1 });
