import { StoreError } from '../model/error.ts';
import type { BackendRequest, BackendResponse } from '../observability/tracer.ts';

/** Values of `retryAfter` in seconds: short if the host is busy, long if the operator must act. */
export const SHORT_RETRY_AFTER_SECONDS = 2;
export const LONG_RETRY_AFTER_SECONDS = 30;

/** How error messages name a remote host and its settings. */
export interface RemoteHost {
  /** Subject of the message, at the beginning of a sentence. */
  readonly name: string;
  /** The setting that contains its address. */
  readonly setting: string;
  /** The settings that determine its host name. Default: `setting` */
  readonly nameSettings?: string;
}

/** Converts a network error before the response to `store-unreachable`. Returns undefined for all other errors. */
export function networkProblem(
  error: unknown,
  { name, setting, nameSettings = setting }: RemoteHost,
): StoreError | undefined {
  const found = findFailure(error);
  if (!found) return undefined;
  const messages: Readonly<Record<NetworkFailure, string>> = {
    'connection-lost': 'closed the connection.',
    timeout: `did not respond in time. Check ${setting} and the network.`,
    'unknown-host': `has an unknown host name. Check ${nameSettings}.`,
    unreachable: `can't be reached. Check ${setting} and the network.`,
    insecure: `has no valid certificate (${found.code}). Check ${setting} and the certificate.`,
    expired: `has an expired certificate (${found.code}). Renew the certificate.`,
    'not-yet-valid': `has a certificate that is not valid yet (${found.code}). Check the clock of this machine.`,
  };
  const retryAfter = NEEDS_OPERATOR.has(found.failure) ? LONG_RETRY_AFTER_SECONDS : SHORT_RETRY_AFTER_SECONDS;
  return new StoreError('store-unreachable', `${name} ${messages[found.failure]}`, { cause: error, retryAfter });
}

/** How a request failed before its response. */
export type NetworkFailure =
  | 'connection-lost'
  | 'timeout'
  | 'unknown-host'
  | 'unreachable'
  | 'insecure'
  | 'expired'
  | 'not-yet-valid';

const NEEDS_OPERATOR: ReadonlySet<NetworkFailure> = new Set(['insecure', 'expired', 'not-yet-valid']);

/** Returns how the network failed, from an error or its causes; undefined for all other errors. */
export function networkFailureOf(error: unknown): NetworkFailure | undefined {
  return findFailure(error)?.failure;
}

/** Returns advice for a network error of a store; `unknownHost` is that for a name without an address. */
export function networkAdvice(error: unknown, unknownHost: string): string | undefined {
  switch (networkFailureOf(error)) {
    case 'unknown-host':
      return unknownHost;
    case 'insecure':
      return 'Use the host name of the certificate, or http:// for a port without HTTPS. For a private certificate authority, set NODE_EXTRA_CA_CERTS to its certificate.';
    case 'expired':
    case 'not-yet-valid':
      return certificateDateAdvice(error, 'the server');
    case 'unreachable':
      return 'Start the server, correct the host and port, or open the firewall.';
    case 'timeout':
      return 'Correct the host and port, or open the firewall.';
    default:
      return undefined;
  }
}

/** Returns advice for a certificate of `host` that has expired or is not valid yet; undefined for all other errors. */
export function certificateDateAdvice(error: unknown, host: string): string | undefined {
  switch (networkFailureOf(error)) {
    case 'expired':
      return `Renew the certificate of ${host}, and find out why automatic renewal failed. If the certificate is current, set the clock of this machine: timedatectl set-ntp true`;
    case 'not-yet-valid':
      return 'Set the clock of this machine: timedatectl set-ntp true';
    default:
      return undefined;
  }
}

function findFailure(error: unknown): { failure: NetworkFailure; code: string } | undefined {
  for (const code of codesOf(error)) {
    const failure = FAILURES.find(([codes]) => codes.test(code))?.[1];
    if (failure !== undefined) return { failure, code };
  }
  return undefined;
}

/** Returns the codes and names of an error and its causes. Some timeouts have a name but no code. */
function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current) codes.push(String(current.code));
    codes.push(current.name);
  }
  return codes;
}

/** Error codes of Node.js, OpenSSL and undici. Some clients also report a broken connection as a timeout. */
const FAILURES: readonly (readonly [RegExp, NetworkFailure])[] = [
  [/^(ECONNRESET|EPIPE|ECONNABORTED|UND_ERR_SOCKET|UND_ERR_DESTROYED)$/, 'connection-lost'],
  [/^(ETIMEDOUT|ESOCKETTIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|TimeoutError)$/, 'timeout'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'unknown-host'],
  [/^E(CONNREFUSED|HOSTUNREACH|NETUNREACH|ADDRNOTAVAIL)$/, 'unreachable'],
  [/^CERT_HAS_EXPIRED$/, 'expired'],
  [/^CERT_NOT_YET_VALID$/, 'not-yet-valid'],
  [/^EPROTO$|^ERR_(SSL|TLS)|CERT|SIGNATURE|^HPE_/, 'insecure'],
];

/** Called after each request to the backend. */
export type RequestObserver = (request: BackendRequest) => void;

/**
 * Sends a request and reports it when the response headers arrive or the request fails. Adds no overhead without an
 * observer.
 */
export async function sendObserved<Result>(
  observe: RequestObserver | undefined,
  { method, url }: Pick<BackendRequest, 'method' | 'url'>,
  send: () => Promise<Result>,
  read: (response: Result) => BackendResponse,
): Promise<Result> {
  if (!observe) return send();
  const started = performance.now();
  const report = (response: BackendResponse) =>
    observe({ method, url: url.split('?')[0] ?? '', ...response, milliseconds: performance.now() - started });
  try {
    const response = await send();
    report(read(response));
    return response;
  } catch (error) {
    report({ status: undefined, backendId: undefined });
    throw error;
  }
}

/** Receives log entries and counts from a store, about events that fail no request. */
export interface StoreLog {
  info(message: string, details: object): void;
  warn(message: string, details: object): void;
  /** Logs an event after which the operator must act. */
  error(message: string, details: object): void;
  /** Called after each request to the backend. Undefined if requests are not observed. */
  readonly onRequest?: RequestObserver | undefined;
  /** Called for each retry of a request to the backend. */
  onRetry(): void;
  /** Called for each commit, with the number of changes that it combines. */
  onCommit(changes: number): void;
}
