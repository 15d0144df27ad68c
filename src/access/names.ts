/**
 * What names of people, groups and tokens are, as a pattern for Unicode: 1 to 200 characters, without control characters
 * and halves of surrogate pairs.
 */
export const NAME_PATTERN = String.raw`^[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,200}$`;

const NAME = new RegExp(NAME_PATTERN, 'u');

export function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}
