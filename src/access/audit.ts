import type { Identity } from './policy.ts';

/** An entry of the audit log: a sign-in, a sign-out, a refusal, a change or, with `AUDIT_READS`, a read. */
export interface AuditEvent {
  readonly event: 'sign-in' | 'sign-out' | 'refusal' | 'change' | 'read';
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
  /** The paths of a read of several files and folders. */
  readonly paths?: readonly string[];
  /** The ID of the version that a read returned. */
  readonly version?: string;
  /** The `Content-Range` of a read of a part. */
  readonly range?: string;
  /** The bytes of content that a read returned. Null for a redirect: its URL can be used several times, or never. */
  readonly bytes?: number | null;
  /** The ID of the share link through which a visitor acts, or which a user creates, changes or revokes. */
  readonly link?: string;
  /** The ID of the app token that a user creates or revokes. */
  readonly appToken?: string;
  readonly outcome: 'done' | 'failed' | 'refused';
  /** The reason for a failure or refusal. */
  readonly reason?: string;
}

/** The authentication method of a request. */
export type AuthenticationMethod = 'session' | 'password' | 'token' | 'app-token' | 'jwt' | 'link';

/** The sender of a request. */
export interface Actor {
  readonly user: Identity | undefined;
  /** Undefined for an anonymous request. */
  readonly authMethod: AuthenticationMethod | undefined;
  /** The ID of the app token of the request; undefined for other authentication methods. */
  readonly appToken?: string | undefined;
  readonly clientAddress: string;
  readonly requestId: string;
}

/** A destination for audit events. */
export interface Audit {
  write(event: AuditEvent, actor: Actor): void;
  /** Reopens the file, after log rotation has moved it. */
  reopen(): void;
  close(): void;
}

/** The audit log of services that have none. */
export const noAudit: Audit = { write: () => {}, reopen: () => {}, close: () => {} };
