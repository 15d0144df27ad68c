/** Whether the tests run in their full form: the files `tests/long/full-forms*.test.ts` set it. */
export const isFullForm = process.env['FULL_FORMS'] === '1';
