import { randomUUID } from 'node:crypto';
import { type Kysely, type Selectable, sql } from 'kysely';
import { type Creator, isRemoved } from '../access/creator.ts';
import { hashToken } from '../access/credentials.ts';
import type { Permission, Policy } from '../access/policy.ts';
import type { Database } from '../database/database.ts';
import type { AppTokensTable } from '../database/tables/app-tokens.ts';
import type { Tables } from '../database/tables/tables.ts';
import { StoreError } from '../model/error.ts';
import type { FolderPath } from '../model/path.ts';
import { type AppToken, type AppTokenSettings, appTokenNotFound, createSecret } from './app-token.ts';

/** Maximum number of app tokens of one user, with those that have expired. */
export const MAX_APP_TOKENS = 100;

/** Milliseconds for which the time of the last use is not updated again. */
const USE_INTERVAL_MS = 60_000;

/** The topic of the message that app tokens were revoked. */
export const APP_TOKENS_TOPIC = 'app_tokens';

/** The table of app tokens. Every member throws `database-unavailable` if the database can't be used. */
export class AppTokens {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Adds a token. Its secret is returned only here. Throws `invalid-request` if the user has too many. */
  async create(
    { name, folder, permissions, expiresAt }: AppTokenSettings,
    owner: Creator,
  ): Promise<{ readonly token: AppToken; readonly secret: string }> {
    const { secret, hash } = createSecret();
    const row = await this.#database.transaction(async (db) => {
      const { count } = await db
        .selectFrom('app_tokens')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .where('owner_name', '=', owner.name)
        .executeTakeFirstOrThrow();
      if (count >= MAX_APP_TOKENS) throw tooManyTokens();
      return db
        .insertInto('app_tokens')
        .values({
          id: randomUUID(),
          token_hash: hash,
          name,
          owner: JSON.stringify(owner),
          owner_name: owner.name,
          folder,
          permissions: JSON.stringify(permissions),
          expires_at: expiresAt?.getTime() ?? null,
          created_at: this.#database.dialect.now,
          last_used_at: null,
        })
        .returningAll()
        .returning(this.#now)
        .executeTakeFirstOrThrow();
    });
    return { token: toToken(row), secret };
  }

  /** Returns the token with a secret; undefined if it does not exist. */
  async findBySecret(secret: string): Promise<AppToken | undefined> {
    const hash = hashToken(secret);
    return this.#database.run(async (db) => {
      const row = await this.#select(db).where('token_hash', '=', hash).executeTakeFirst();
      return row && toToken(row);
    });
  }

  /** Returns the tokens with these IDs that exist. */
  async findAll(ids: readonly string[]): Promise<readonly AppToken[]> {
    const rows = await this.#database.run((db) => this.#select(db).where('id', 'in', ids).execute());
    return rows.map(toToken);
  }

  /** Returns the tokens of a user, or of all users, the newest first. */
  async list(ownerName?: string): Promise<readonly AppToken[]> {
    const rows = await this.#database.run((db) =>
      this.#select(db)
        .$if(ownerName !== undefined, (query) => query.where('owner_name', '=', ownerName ?? ''))
        .orderBy('created_at', 'desc')
        .orderBy('id', 'desc')
        .execute(),
    );
    return rows.map(toToken);
  }

  /** Removes a token, with `ownerName` only one of this user. Returns it. Throws `not-found`. */
  async revoke(id: string, ownerName?: string): Promise<AppToken> {
    const removed = await this.#database.run((db) =>
      db
        .deleteFrom('app_tokens')
        .where('id', '=', id)
        .$if(ownerName !== undefined, (query) => query.where('owner_name', '=', ownerName ?? ''))
        .returningAll()
        .returning(this.#now)
        .executeTakeFirst(),
    );
    if (!removed) throw appTokenNotFound(id);
    await this.#database.notify(APP_TOKENS_TOPIC);
    return toToken(removed);
  }

  /** Removes all tokens of a user, and returns them. */
  async revokeAll(ownerName: string): Promise<readonly AppToken[]> {
    const removed = await this.#database.run((db) =>
      db.deleteFrom('app_tokens').where('owner_name', '=', ownerName).returningAll().returning(this.#now).execute(),
    );
    await this.#database.notify(APP_TOKENS_TOPIC);
    return removed.map(toToken);
  }

  /** Removes the tokens of all users who are no longer in the access file. */
  async revokeOfRemoved(policy: Policy): Promise<void> {
    const owners = await this.#database.run((db) => db.selectFrom('app_tokens').select('owner').distinct().execute());
    const removed = owners.map(({ owner }) => owner).filter((owner) => isRemoved(JSON.parse(owner) as Creator, policy));
    if (removed.length === 0) return;
    await this.#database.run((db) => db.deleteFrom('app_tokens').where('owner', 'in', removed).execute());
    await this.#database.notify(APP_TOKENS_TOPIC);
  }

  /** Records that a token is used, unless that was recorded in the last minute. */
  async recordUse(id: string): Promise<void> {
    const { now } = this.#database.dialect;
    await this.#database.run((db) =>
      db
        .updateTable('app_tokens')
        .set({ last_used_at: now })
        .where('id', '=', id)
        .where(({ eb, or }) =>
          or([
            eb('last_used_at', 'is', null),
            eb('last_used_at', '<=', sql<number>`${now} - ${sql.lit(USE_INTERVAL_MS)}`),
          ]),
        )
        .execute(),
    );
  }

  /** The time of the query, in a column. */
  get #now() {
    return this.#database.dialect.now.as('now');
  }

  #select(db: Pick<Kysely<Tables>, 'selectFrom'>) {
    return db.selectFrom('app_tokens').selectAll().select(this.#now);
  }
}

function toToken(row: Selectable<AppTokensTable> & { readonly now: number }): AppToken {
  const { expires_at: expiresAt, last_used_at: lastUsedAt, now } = row;
  return {
    id: row.id,
    name: row.name,
    owner: JSON.parse(row.owner) as Creator,
    // Only parsed paths and permissions are stored.
    folder: row.folder as FolderPath,
    permissions: JSON.parse(row.permissions) as Permission[],
    expiresAt: expiresAt === null ? undefined : new Date(expiresAt),
    createdAt: new Date(row.created_at),
    lastUsedAt: lastUsedAt === null ? undefined : new Date(lastUsedAt),
    isExpired: expiresAt !== null && expiresAt <= now,
    isRecentlyUsed: lastUsedAt !== null && now - lastUsedAt < USE_INTERVAL_MS,
  };
}

function tooManyTokens(): StoreError {
  const message = `You already have ${MAX_APP_TOKENS} app tokens, the maximum. Revoke those that are no longer needed.`;
  return new StoreError('invalid-request', message);
}
