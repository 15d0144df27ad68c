/** An authenticated user. An anonymous user is `undefined` instead. */
export interface Identity {
  /** The username in grants. */
  readonly name: string;
  /** The groups that the identity provider reported. The policy adds those of the access file. */
  readonly groups: readonly string[];
}

/** The authentication method of a request, for the audit log. */
export type AuthenticationMethod = 'session' | 'password' | 'token' | 'jwt';

/** Names of users, groups and tokens: 1 to 200 characters, without control characters and lone surrogates. */
const NAME = /^[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,200}$/u;

/** The same rule as a pattern for JSON Schema. */
export const NAME_PATTERN = NAME.source;

export function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}
