/** Whether the tests run in their full form: `tests/long/full-forms.test.ts` sets it. */
export const isFullForm = process.env['FULL_FORMS'] === '1';
