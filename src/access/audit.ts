import type { AuthenticationMethod, Identity } from './identity.ts';

/** An entry of the audit log: a sign-in, a sign-out, a refusal or a change. */
export interface AuditEvent {
  readonly event: 'sign-in' | 'sign-out' | 'refusal' | 'change';
  /** The action: `upload`, `delete`, `move folder`, or the method of a request. */
  readonly action: string;
  /**
   * The user who signs in or out. Refused sign-ins include only usernames that exist, because users mistakenly type
   * passwords into this field.
   */
  readonly name?: string;
  /** The path of the action; the source of a copy or move. */
  readonly path?: string;
  readonly destination?: string;
  readonly outcome: 'done' | 'failed' | 'refused';
  /** The reason for a failure or refusal. */
  readonly reason?: string;
}

/** The sender of a request. */
export interface Actor {
  readonly who: Identity | undefined;
  /** The authentication method; undefined for an anonymous request. */
  readonly way: AuthenticationMethod | undefined;
  /** The client address. */
  readonly from: string;
  readonly requestId: string;
}

/** A destination for audit events. */
export interface Audit {
  write(event: AuditEvent, asker: Actor): void;
  /** Reopens the file, after log rotation has moved it. */
  reopen(): void;
  close(): void;
}

/** The audit log of services that have none. */
export const noAudit: Audit = { write: () => {}, reopen: () => {}, close: () => {} };
