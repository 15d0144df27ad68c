/** Somebody who has proven who they are. Who has not is `undefined` wherever one of these may stand. */
export interface Identity {
  /** The name that grants to a person mean. */
  readonly name: string;
  /** The groups that a provider told of; those of the access file are added by the policy. */
  readonly groups: readonly string[];
}

/** How a request proved who sent it, for the audit log. */
export type Way = 'session' | 'password' | 'token' | 'jwt';
