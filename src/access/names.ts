/** Names of users, groups and tokens: 1 to 200 characters, without control characters and lone surrogates. */
const NAME = /^[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,200}$/u;

/** The same rule for JSON Schema. */
export const NAME_PATTERN = NAME.source;

export function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}
