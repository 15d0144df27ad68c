import type { ColumnType } from 'kysely';

/** The share links. Times are milliseconds since 1970, by the clock of the database. */
export interface LinksTable {
  readonly id: string;
  /** The SHA-256 hash of the token, in base64url. The token itself is not stored. */
  readonly token_hash: string;
  readonly kind: 'file' | 'folder';
  /** The path of the shared file or folder; empty for the root. */
  readonly path: string;
  /** The permissions that the link gives, as JSON. */
  readonly permissions: string;
  readonly label: string | null;
  /** The user who created the link, as JSON: see `Creator`. Null for an anonymous user. */
  readonly creator: string | null;
  /** The name of that user, to find their links. */
  readonly creator_name: string | null;
  /** The hash of the password, in the format of `credentials.ts`; null without a password. */
  readonly password_hash: string | null;
  readonly expires_at: number | null;
  readonly max_downloads: number | null;
  readonly downloads: number;
  readonly max_uploads: number | null;
  /** The uploads whose content has arrived. */
  readonly uploads: number;
  /** The maximum size of each upload in bytes. */
  readonly max_upload_bytes: number | null;
  /** 1 or 0. */
  readonly ask_sender: number;
  /** Why the link ended permanently; null for one that did not. */
  readonly ended: ColumnType<'permission' | null, 'permission' | null | undefined, 'permission' | null>;
  readonly created_at: number;
  readonly last_used_at: number | null;
}
