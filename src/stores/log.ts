import type { TellRequest } from './tell-request.ts';

/** Where a store tells what a person should know of, or may want to look up or count, though no request fails for it. */
export interface StoreLog {
  info(message: string, details: object): void;
  warn(message: string, details: object): void;
  /** A request to the backend has ended. Undefined where nobody wants to know. */
  readonly asked?: TellRequest | undefined;
  /** A request to the backend was sent again. */
  retried(): void;
  /** A commit was made of so many changes. */
  committed(changes: number): void;
}
