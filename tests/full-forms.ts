/** Whether the tests run in their full form, as by `npm run test:long`: with all permutations, and with more rounds. */
export const isFullForm = process.env['FULL_FORMS'] === '1';

/** The option of tests that run only in the full form, because `npm test` proves most of the same behaviour faster. */
export const IN_FULL_FORM_ONLY = { skip: isFullForm ? false : 'only in npm run test:long' };
