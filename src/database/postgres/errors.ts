import { DatabaseError } from 'pg';
import { systemErrorCode } from '../../model/error.ts';
import { DatabaseFault, type FaultKind } from '../engine.ts';

/**
 * What is wrong, by SQLSTATE or its class, and what to do about it: https://www.postgresql.org/docs/current/errcodes-appendix.html.
 * Other states are mistakes in a query.
 */
const FAULTS: Readonly<Record<string, readonly [FaultKind, problem: string]>> = {
  '08': ['unreachable', 'lost the connection'],
  '28': ['misconfigured', 'refuses the user or the password in DATABASE_URL'],
  '3D': ['misconfigured', 'has no database of the name in DATABASE_URL. Create it'],
  '42501': ['misconfigured', 'denies the user in DATABASE_URL a permission. Make the user the owner of the database'],
  '25006': ['read-only', 'is read-only. Set DATABASE_URL to the primary server'],
  '53100': ['full', 'has no space left on its disk'],
  '53': ['unreachable', 'has no resources for another connection'],
  '55P03': ['busy', 'did not get a lock in time'],
  '57014': ['busy', 'cancelled a query that took too long'],
  '57': ['unreachable', 'is starting or stopping'],
  '58': ['unreachable', 'has a problem with its system'],
  XX: ['corrupt', 'reports an internal error or damaged data'],
};

/** Faults that fail single queries, while the connections remain usable. */
const SINGLE_FAULTS: ReadonlySet<string> = new Set(['full', 'busy']);

/** Returns the fault that an error of PostgreSQL stands for; undefined for any other error. */
export function postgresFaultOf(error: unknown, server: string): DatabaseFault | undefined {
  if (error instanceof DatabaseFault) return error;
  const found = error instanceof DatabaseError ? ofServer(error) : ofConnection(error);
  if (!found) return undefined;
  const [kind, problem] = found;
  return new DatabaseFault(kind, `The PostgreSQL server ${server} ${problem}.`, {
    isOutage: !SINGLE_FAULTS.has(kind),
    cause: error,
  });
}

function ofServer({ code = '' }: DatabaseError): (typeof FAULTS)[string] | undefined {
  return FAULTS[code] ?? FAULTS[code.slice(0, 2)];
}

/** The error of a query that waits too long for a connection of the pool, `pg-pool/index.js`: others use all of them. */
const POOL_TIMEOUT = 'timeout exceeded when trying to connect';

/** Errors of the client without a code: https://github.com/brianc/node-postgres, `pg/lib/client.js` and `pg-pool`. */
const CLIENT_ERRORS =
  /^(?:Connection terminated|timeout expired|Query read timeout|Client has encountered a connection error|Client was closed|The server does not support SSL|Cannot use a pool)/;

function ofConnection(error: unknown): (typeof FAULTS)[string] | undefined {
  const code = systemErrorCode(error);
  if (code !== undefined && /^(?:E[A-Z_]+|(?:CERT|UNABLE|SELF|DEPTH|ERR_(?:SSL|TLS))_\w+)$/.test(code)) {
    return ['unreachable', `can't be reached (${code})`];
  }
  if (!(error instanceof Error)) return undefined;
  if (error.message === POOL_TIMEOUT) return ['busy', 'has not completed other queries in time'];
  if (!CLIENT_ERRORS.test(error.message)) return undefined;
  return ['unreachable', `can't be reached (${error.message.replace(/\.$/, '')})`];
}
