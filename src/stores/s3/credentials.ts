import type { StoreError } from '../../model/error.ts';
import { configurationError } from './errors.ts';

/** An access key, permanent or of a session. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Present in temporary credentials. */
  readonly sessionToken?: string | undefined;
  /** The time at which the store starts to reject temporary credentials, if it is known. */
  readonly expiration?: Date | undefined;
}

/** Requests new credentials. */
export type CredentialProvider = () => Promise<Credentials>;

/** Milliseconds before their expiration from which on credentials are refreshed (AWS SDKs: five minutes). */
const REFRESH_MS = 5 * 60_000;

/** Milliseconds before their expiration from which on credentials are no longer used. */
const MIN_VALIDITY_MS = 10_000;

/** Minimum milliseconds between two attempts to refresh credentials that are still valid. */
const REFRESH_INTERVAL_MS = 10_000;

/**
 * Keeps the credentials of a provider, and refreshes them in the background before they expire. Calls the provider once
 * at a time.
 */
export class CredentialCache {
  readonly #provide: CredentialProvider;
  readonly #warn: (message: string, details: object) => void;
  #current: Credentials | undefined;
  #pending: Promise<Credentials> | undefined;
  #refreshedAt = Number.NEGATIVE_INFINITY;

  constructor(provide: CredentialProvider, warn: (message: string, details: object) => void) {
    this.#provide = provide;
    this.#warn = warn;
  }

  /** Returns valid credentials. Throws `unavailable` if the provider has none. */
  get(): Credentials | Promise<Credentials> {
    const current = this.#current;
    if (current === undefined) return this.#refresh();
    if (current.expiration === undefined) return current;
    const validity = current.expiration.getTime() - Date.now();
    if (validity <= MIN_VALIDITY_MS) return this.#refresh();
    if (validity <= REFRESH_MS && Math.abs(Date.now() - this.#refreshedAt) >= REFRESH_INTERVAL_MS) {
      this.#refresh().catch((error: unknown) => {
        this.#warn('Credentials could not be refreshed; the current ones are still valid.', { err: error });
      });
    }
    return current;
  }

  /** Forgets credentials that the store rejected. Returns whether a request can be retried with other ones. */
  invalidate(rejected: Credentials): boolean {
    if (rejected.sessionToken === undefined) return false;
    if (this.#current === rejected) this.#current = undefined;
    return true;
  }

  #refresh(): Promise<Credentials> {
    this.#pending ??= this.#provide()
      .then((credentials) => {
        this.#current = credentials;
        return credentials;
      })
      .catch((error: unknown) => {
        throw noCredentials(error);
      })
      .finally(() => {
        this.#pending = undefined;
        this.#refreshedAt = Date.now();
      });
    return this.#pending;
  }
}

/**
 * Returns the provider of the standard AWS chain: environment variables, shared files, web identity (IRSA), and the
 * roles of containers (ECS, EKS) and instances (EC2). Loads the chain at the first call.
 */
export function awsProviderChain(region: string): CredentialProvider {
  return async () => {
    const { fromNodeProviderChain } = await import('@aws-sdk/credential-providers');
    // The requests for a role need a region of AWS. "auto" is none, so the chain reads AWS_REGION then. A new chain has
    // no cache, so that rejected credentials are not returned again.
    return fromNodeProviderChain(region === 'auto' ? {} : { clientConfig: { region } })();
  };
}

/** Omits the reason from the message, because it can contain paths and commands of this machine. */
function noCredentials(cause: unknown): StoreError {
  return configurationError(
    'credentials-missing',
    'No AWS credentials were found. Set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY, or give this machine a role or a credentials file.',
    cause,
  );
}
