import type { AuthenticationMethod, Identity } from './identity.ts';

/** What is written down: every sign-in, every refusal, every change. */
export interface AuditEvent {
  readonly event: 'sign-in' | 'sign-out' | 'refusal' | 'change';
  /** What was asked for: `upload`, `delete`, `move folder`, or a request's method. */
  readonly action: string;
  /** Who signs in or out. Of those who are refused, only names that there are: people type passwords into such fields. */
  readonly name?: string;
  /** The file or folder it was about, and the other one of a copy or move. */
  readonly path?: string;
  readonly destination?: string;
  readonly outcome: 'done' | 'failed' | 'refused';
  /** Why not. */
  readonly reason?: string;
}

/** Who asked, and how. */
export interface Actor {
  readonly who: Identity | undefined;
  /** How they proved it. */
  readonly way: AuthenticationMethod | undefined;
  /** Their address. */
  readonly from: string;
  readonly requestId: string;
}

/** Where events are written. */
export interface Audit {
  write(event: AuditEvent, asker: Actor): void;
  /** Opens the file anew, after somebody has moved it away. */
  reopen(): void;
  close(): void;
}

/** For services that keep no such log. */
export const noAudit: Audit = { write: () => {}, reopen: () => {}, close: () => {} };
