import { StoreError } from '../model/error.ts';
import type { BackendRequest, BackendResponse } from '../observability/tracer.ts';

/** Values of `retryAfter` in seconds: `SOON` if the host is busy, `LATER` if the operator has to act. */
export const RETRY_SOON_SECONDS = 2;
export const RETRY_LATER_SECONDS = 30;

/** How error messages name a remote host and its settings. */
export interface RemoteHost {
  /** Subject of the message, at the beginning of a sentence. */
  readonly name: string;
  /** The setting that contains its address. */
  readonly setting: string;
  /** The settings that determine its host name. Default: `setting` */
  readonly nameSettings?: string;
}

/** Converts a network error before the response to a `store-unreachable` error. Returns undefined for all other errors. */
export function networkProblem(
  error: unknown,
  { name, setting, nameSettings = setting }: RemoteHost,
): StoreError | undefined {
  const code = codesOf(error).find((found) => PROBLEMS.some(([codes]) => codes.test(found)));
  const problem = PROBLEMS.find(([codes]) => codes.test(code ?? ''))?.[1];
  const tell = (what: string, retryAfter = RETRY_SOON_SECONDS) =>
    new StoreError('store-unreachable', `${name} ${what}`, { cause: error, retryAfter });
  switch (problem) {
    case 'broken off':
      return tell('broke the connection off.');
    case 'silent':
      return tell(`did not answer in time: look at ${setting} and the network.`);
    case 'unknown name':
      return tell(`has a name that nobody knows: look at ${nameSettings}.`);
    case 'unreachable':
      return tell(`can't be reached: look at ${setting} and the network.`);
    case 'unsafe':
      return tell(`can't be talked to safely (${code}): look at ${setting} and its certificate.`, RETRY_LATER_SECONDS);
    case undefined:
      return undefined;
  }
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
const PROBLEMS = [
  [/^(ECONNRESET|EPIPE|ECONNABORTED|UND_ERR_SOCKET|UND_ERR_DESTROYED)$/, 'broken off'],
  [/^(ETIMEDOUT|ESOCKETTIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|TimeoutError)$/, 'silent'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'unknown name'],
  [/^E(CONNREFUSED|HOSTUNREACH|NETUNREACH|ADDRNOTAVAIL)$/, 'unreachable'],
  [/^EPROTO$|^ERR_(SSL|TLS)|CERT|SIGNATURE|^HPE_/, 'unsafe'],
] as const;

/** Called after each request to the backend. */
export type RequestObserver = (request: BackendRequest) => void;

/**
 * Sends a request and reports it when the response headers arrive or the request fails. Adds no overhead without an
 * observer.
 */
export async function sendObserved<Answer>(
  tell: RequestObserver | undefined,
  { method, url }: Pick<BackendRequest, 'method' | 'url'>,
  send: () => Promise<Answer>,
  read: (answer: Answer) => BackendResponse,
): Promise<Answer> {
  if (!tell) return send();
  const started = performance.now();
  const told = (answer: BackendResponse) =>
    tell({ method, url: url.split('?')[0] ?? '', ...answer, milliseconds: performance.now() - started });
  try {
    const answer = await send();
    told(read(answer));
    return answer;
  } catch (error) {
    told({ status: undefined, backendId: undefined });
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
  readonly asked?: RequestObserver | undefined;
  /** Called for each retry of a request to the backend. */
  retried(): void;
  /** Called for each commit, with the number of changes that it combines. */
  committed(changes: number): void;
}
