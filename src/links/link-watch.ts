import { isStoreError } from '../model/error.ts';
import type { Link } from './link.ts';
import type { Links } from './links.ts';

/** Milliseconds between two checks while there are uses. A link that was revoked ends within two seconds. */
const CHECK_INTERVAL_MS = 1000;

/** A use of a link that is in progress, such as a download. */
interface Use {
  /** The link when the use began. */
  readonly link: Link;
  /** Returns whether the use may continue with the link of this moment. */
  readonly isAllowed: (link: Link) => boolean;
  /** Ends the use. */
  readonly end: () => void;
}

/** Ends the uses of links that are revoked, here or by another process. Reads the links only while there are uses. */
export class LinkWatch {
  readonly #links: Links;
  readonly #intervalMs: number;
  readonly #onError: (error: unknown) => void;
  readonly #uses = new Set<Use>();
  #timer: NodeJS.Timeout | undefined;

  constructor(links: Links, { intervalMs = CHECK_INTERVAL_MS, onError }: LinkWatchOptions) {
    this.#links = links;
    this.#intervalMs = intervalMs;
    this.#onError = onError;
  }

  /** Adds a use. Returns a function to call when it has ended by itself. */
  add(use: Use): () => void {
    this.#uses.add(use);
    this.#schedule();
    return () => {
      this.#uses.delete(use);
      if (this.#uses.size > 0) return;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    };
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.#check(), this.#intervalMs).unref();
  }

  /** Never rejects. */
  async #check(): Promise<void> {
    const uses = [...this.#uses];
    try {
      const found = await this.#links.findAll([...new Set(uses.map(({ link }) => link.id))]);
      const links = new Map(found.map((link) => [link.id, link]));
      for (const use of uses) {
        const link = links.get(use.link.id);
        if (!link || !use.isAllowed(link)) use.end();
      }
    } catch (error) {
      // Nothing can be revoked without the database.
      if (!isStoreError(error, 'unavailable')) this.#onError(error);
    }
    this.#timer = undefined;
    if (this.#uses.size > 0) this.#schedule();
  }
}

export interface LinkWatchOptions {
  /** Milliseconds between two checks. */
  readonly intervalMs?: number;
  readonly onError: (error: unknown) => void;
}
