import { StoreError } from '../model/error.ts';
import type { BackendAnswer, BackendRequest } from '../observability/tracer.ts';

/** Seconds until another try makes sense: soon where the host is busy, later where a person has to act. */
export const RETRY_SOON_SECONDS = 2;
export const RETRY_LATER_SECONDS = 30;

/** For whoever still asks a store that is being closed. */
export function shuttingDown(): StoreError {
  return new StoreError('unavailable', 'The service is stopping. Try again in a second.', { retryAfter: 1 });
}

/** How an error names the other side, and the settings to look at. */
export interface RemoteHost {
  /** As the beginning of a sentence. */
  readonly name: string;
  /** The setting that has its address. */
  readonly setting: string;
  /** The settings that make up its name, where they are more than that one. */
  readonly nameSettings?: string;
}

/** What went wrong between a client and its host before there was an answer; undefined for every other error. */
export function networkProblem(
  error: unknown,
  { name, setting, nameSettings = setting }: RemoteHost,
): StoreError | undefined {
  const code = codesOf(error).find((found) => PROBLEMS.some(([codes]) => codes.test(found)));
  const problem = PROBLEMS.find(([codes]) => codes.test(code ?? ''))?.[1];
  const tell = (what: string, retryAfter = RETRY_SOON_SECONDS) =>
    new StoreError('unavailable', `${name} ${what}`, { cause: error, retryAfter, isOutOfReach: true });
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

/** The codes of an error and of what caused it. A time-out may have none but its name. */
function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  for (let current = error; current instanceof Error; current = current.cause) {
    if ('code' in current) codes.push(String(current.code));
    codes.push(current.name);
  }
  return codes;
}

/** The codes of Node.js, of OpenSSL and of undici. Clients call what was broken off a time-out as well. */
const PROBLEMS = [
  [/^(ECONNRESET|EPIPE|ECONNABORTED|UND_ERR_SOCKET|UND_ERR_DESTROYED)$/, 'broken off'],
  [/^(ETIMEDOUT|ESOCKETTIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT|TimeoutError)$/, 'silent'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'unknown name'],
  [/^E(CONNREFUSED|HOSTUNREACH|NETUNREACH|ADDRNOTAVAIL)$/, 'unreachable'],
  [/^EPROTO$|^ERR_(SSL|TLS)|CERT|SIGNATURE|^HPE_/, 'unsafe'],
] as const;

/** Told of each request that was sent to the backend. */
export type RequestObserver = (request: BackendRequest) => void;

/** Sends a request, and tells of it when the head of its answer has come, or an error. Costs nothing where nobody is told. */
export async function sendObserved<Answer>(
  tell: RequestObserver | undefined,
  { method, url }: Pick<BackendRequest, 'method' | 'url'>,
  send: () => Promise<Answer>,
  read: (answer: Answer) => BackendAnswer,
): Promise<Answer> {
  if (!tell) return send();
  const started = performance.now();
  const told = (answer: BackendAnswer) =>
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

/** Where a store tells what a person should know of, or may want to look up or count, though no request fails for it. */
export interface StoreLog {
  info(message: string, details: object): void;
  warn(message: string, details: object): void;
  /** A request to the backend has ended. Undefined where nobody wants to know. */
  readonly asked?: RequestObserver | undefined;
  /** A request to the backend was sent again. */
  retried(): void;
  /** A commit was made of so many changes. */
  committed(changes: number): void;
}
