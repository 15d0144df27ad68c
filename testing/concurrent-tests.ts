/** The maximum number of tests of one suite that run at the same time, if they mostly wait. */
export const CONCURRENT_TESTS = 4;
