import { StoreError } from '../domain/error.ts';

/** Seconds until another try makes sense: soon where the host is busy, later where a person has to act. */
export const SOON = 2;
export const LATER = 30;

/** For whoever still asks a store that is being closed. */
export function stopping(): StoreError {
  return new StoreError('unavailable', 'The service is stopping. Try again in a second.', { retryAfter: 1 });
}

/** How an error names the other side, and the settings to look at. */
export interface Host {
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
  { name, setting, nameSettings = setting }: Host,
): StoreError | undefined {
  const code = codesOf(error).find((found) => PROBLEMS.some(([codes]) => codes.test(found)));
  const problem = PROBLEMS.find(([codes]) => codes.test(code ?? ''))?.[1];
  const tell = (what: string, retryAfter = SOON) =>
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
      return tell(`can't be talked to safely (${code}): look at ${setting} and its certificate.`, LATER);
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
