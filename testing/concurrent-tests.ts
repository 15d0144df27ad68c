/** The tests of one suite that run at the same time, if they spend most of their time waiting. */
export const CONCURRENT_TESTS = 4;
