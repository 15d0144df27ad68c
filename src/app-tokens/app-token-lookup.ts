import { LRUCache } from 'lru-cache';
import { hashToken } from '../access/credentials.ts';
import { maxEntries } from '../cache/lru-options.ts';
import type { Database } from '../database/database.ts';
import { isStoreError } from '../model/error.ts';
import { type AppToken, isAppTokenSecret } from './app-token.ts';
import { APP_TOKENS_TOPIC, type AppTokens } from './app-tokens.ts';

/** Milliseconds for which a token is not read again: the longest time for which a token that was revoked can be used. */
const LIFETIME_MS = 2000;

/** Maximum number of cached tokens, including those that don't exist. */
const MAX_CACHED = 10_000;

/** What the lookup needs of the table. */
type FoundTokens = Pick<AppTokens, 'findBySecret' | 'recordUse'>;

export interface AppTokenLookupOptions {
  /** Milliseconds for which a token is not read again. */
  readonly lifetimeMs?: number;
  /** Called if the time of a use could not be recorded. */
  readonly onError: (error: unknown) => void;
}

/**
 * Finds app tokens by their secrets, for each request. Caches them for two seconds. Each revocation of this process clears
 * the cache, and one of another process does as soon as its message arrives.
 */
export class AppTokenLookup {
  readonly #table: FoundTokens;
  readonly #lifetimeMs: number;
  readonly #onError: (error: unknown) => void;
  readonly #cache = new LRUCache<string, { readonly token: AppToken | undefined; readonly until: number }>(
    maxEntries(MAX_CACHED),
  );
  readonly #queries = new Map<string, Promise<AppToken | undefined>>();
  /** Tokens whose use was recorded after they were read. */
  readonly #recorded = new WeakSet<AppToken>();
  readonly #endListening: () => void;
  /** Increases with each revocation, so that a query that began before it is not cached. */
  #revocations = 0;

  constructor(
    table: FoundTokens,
    database: Pick<Database, 'listen'>,
    { lifetimeMs = LIFETIME_MS, onError }: AppTokenLookupOptions,
  ) {
    this.#table = table;
    this.#lifetimeMs = lifetimeMs;
    this.#onError = onError;
    this.#endListening = database.listen((topic) => {
      if (topic !== APP_TOKENS_TOPIC) return;
      this.#revocations++;
      this.#cache.clear();
      this.#queries.clear();
    });
  }

  /** Returns the token with a secret; undefined if it does not exist. Throws `database-unavailable`. */
  async find(secret: string): Promise<AppToken | undefined> {
    if (!isAppTokenSecret(secret)) return undefined;
    const hash = hashToken(secret);
    const cached = this.#cache.get(hash);
    if (cached && performance.now() < cached.until) return cached.token;
    const running = this.#queries.get(hash);
    if (running) return running;
    const query = this.#query(secret, hash).finally(() => {
      if (this.#queries.get(hash) === query) this.#queries.delete(hash);
    });
    this.#queries.set(hash, query);
    return query;
  }

  /** Records that a request used a token that it found. The request does not wait for that. */
  recordUse(token: AppToken): void {
    if (token.isRecentlyUsed || this.#recorded.has(token)) return;
    this.#recorded.add(token);
    this.#table.recordUse(token.id).catch((error: unknown) => {
      if (!isStoreError(error, 'unavailable')) this.#onError(error);
    });
  }

  close(): void {
    this.#endListening();
  }

  async #query(secret: string, hash: string): Promise<AppToken | undefined> {
    const revocations = this.#revocations;
    const until = performance.now() + this.#lifetimeMs;
    const token = await this.#table.findBySecret(secret);
    if (revocations === this.#revocations) this.#cache.set(hash, { token, until });
    return token;
  }
}
