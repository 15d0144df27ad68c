/** Somebody who has proven who they are. Who has not is `undefined` wherever one of these may stand. */
export interface Identity {
  /** The name that grants to a person mean. */
  readonly name: string;
  /** The groups that a provider told of; those of the access file are added by the policy. */
  readonly groups: readonly string[];
}

/** How a request proved who sent it, for the audit log. */
export type AuthenticationMethod = 'session' | 'password' | 'token' | 'jwt';

/** Names of users, groups and tokens: 1 to 200 characters, without control characters and lone surrogates. */
const NAME = /^[^\u0000-\u001f\u007f-\u009f\ud800-\udfff]{1,200}$/u;

/** The same rule for JSON Schema. */
export const NAME_PATTERN = NAME.source;

export function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}
