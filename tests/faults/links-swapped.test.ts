import { testSwappedLinks } from './links-swapped.ts';

// With more rounds: tests/long/links-swapped.test.ts.
testSwappedLinks({ files: 3, folders: 4, trees: 1 });
