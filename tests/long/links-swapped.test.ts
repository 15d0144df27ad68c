import { testSwappedLinks } from '../faults/links-swapped.ts';

/*
 * A link that is swapped with a folder during requests is followed only if the swap happens between two system calls.
 * tests/faults meets few of these moments in a second; only this many rounds meet all of them.
 */

testSwappedLinks({ files: 40, folders: 120, trees: 12 });
