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
  readonly ended: ColumnType<'permission' | 'item' | null, 'permission' | 'item' | null | undefined>;
  /** The identities of the root and of the shared folder, separated by a space; null if they are unknown. */
  readonly identity: ColumnType<string | null, string | null | undefined>;
  /** The ID in the trash of the deleted item, and its path: the link had ended with it. */
  readonly removed_as: ColumnType<string | null, string | null | undefined>;
  readonly removed_from: ColumnType<string | null, string | null | undefined>;
  readonly created_at: number;
  readonly last_used_at: number | null;
}

/** The state of the links: one row. Its lock puts the transactions that follow changes in order. */
export interface LinkFeedTable {
  readonly id: number;
  /** The sequence number of the last change that the links have followed. */
  readonly sequence: number;
}
