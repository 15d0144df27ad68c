/** The app tokens. Times are milliseconds since 1970, by the clock of the database. */
export interface AppTokensTable {
  readonly id: string;
  /** The hash of the token, in the format of `credentials.ts`. The token itself is not stored. */
  readonly token_hash: string;
  /** The name of the app. */
  readonly name: string;
  /** The user who created the token, as JSON: see `Creator`. */
  readonly owner: string;
  /** The name of that user, to find their tokens. */
  readonly owner_name: string;
  /** The folder outside of which the token gives no permission; empty for the root. */
  readonly folder: string;
  /** The permissions that the token gives at most, as JSON. */
  readonly permissions: string;
  readonly expires_at: number | null;
  readonly created_at: number;
  readonly last_used_at: number | null;
}
