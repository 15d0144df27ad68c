import { isStoreError } from '../model/error.ts';

/** Milliseconds between two checks while there are uses. A use ends within two seconds after its credential was revoked. */
const CHECK_INTERVAL_MS = 1000;

/** A use of a credential that is in progress, such as a download. */
export interface Use<Credential> {
  readonly id: string;
  /** Returns whether the use may continue with the credential of this moment. */
  readonly isAllowed: (credential: Credential) => boolean;
  /** Ends the use. */
  readonly end: () => void;
}

/**
 * Ends the uses of credentials in a table that are revoked, here or by another process. Reads the credentials only while
 * there are uses.
 */
export class RevocationWatch<Credential extends { readonly id: string }> {
  readonly #findAll: (ids: readonly string[]) => Promise<readonly Credential[]>;
  readonly #intervalMs: number;
  readonly #onError: (error: unknown) => void;
  readonly #uses = new Set<Use<Credential>>();
  #timer: NodeJS.Timeout | undefined;

  /** `findAll` returns the credentials with these IDs that exist. */
  constructor(
    findAll: (ids: readonly string[]) => Promise<readonly Credential[]>,
    { intervalMs = CHECK_INTERVAL_MS, onError }: RevocationWatchOptions,
  ) {
    this.#findAll = findAll;
    this.#intervalMs = intervalMs;
    this.#onError = onError;
  }

  /** Adds a use. Returns a function to call when it has ended by itself. */
  add(use: Use<Credential>): () => void {
    this.#uses.add(use);
    this.#schedule();
    return () => {
      this.#uses.delete(use);
      if (this.#uses.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Checks the uses now, because credentials were revoked. */
  check(): void {
    if (this.#uses.size === 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    void this.#check();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.#check(), this.#intervalMs).unref();
  }

  /** Never rejects. */
  async #check(): Promise<void> {
    const uses = [...this.#uses];
    try {
      const found = await this.#findAll([...new Set(uses.map(({ id }) => id))]);
      const credentials = new Map(found.map((credential) => [credential.id, credential]));
      for (const use of uses) {
        const credential = credentials.get(use.id);
        if (!credential || !use.isAllowed(credential)) use.end();
      }
    } catch (error) {
      // Nothing can be revoked without the database.
      if (!isStoreError(error, 'unavailable')) this.#onError(error);
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#uses.size > 0) this.#schedule();
  }
}

export interface RevocationWatchOptions {
  /** Milliseconds between two checks. */
  readonly intervalMs?: number;
  readonly onError: (error: unknown) => void;
}
