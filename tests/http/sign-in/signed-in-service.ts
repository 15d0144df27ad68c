import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Actor, Audit, AuditEvent } from '../../../src/access/audit.ts';
import { createPolicy, type Grant, PERMISSIONS, type UserEntry } from '../../../src/access/policy.ts';
import {
  type Authenticators,
  type AuthenticatorsOptions,
  createAuthenticators,
} from '../../../src/http/access/authentication.ts';
import { ROOT } from '../../../src/model/path.ts';
import { memory } from '../../contract/backend.ts';
import { type ServiceOptions, startService, type TestService } from '../service.ts';

/** A service with users. */
export interface SignedInService extends TestService {
  readonly authenticators: Authenticators;
  /** The audit events so far. */
  readonly events: readonly (AuditEvent & Actor)[];
  /** Replaces the access file. */
  change(people: readonly UserEntry[]): void;
}

export interface SignedInOptions
  extends Partial<Omit<AuthenticatorsOptions, 'policy' | 'warn'>>,
    Pick<ServiceOptions, 'addRoutes' | 'corsOrigins' | 'hasJobs'> {
  readonly people?: readonly UserEntry[];
  /** The grants. Default: all permissions for every signed-in user. */
  readonly grants?: readonly Grant[];
  readonly port?: number;
}

/**
 * Whether proxies on this machine are trusted, so that a test can choose its address by `X-Forwarded-For`, and HTTPS by
 * `X-Forwarded-Proto`. Default: true.
 */
export async function startSignedInService({
  people = [],
  grants = [{ folder: ROOT, to: { kind: 'signed-in' }, permissions: PERMISSIONS }],
  isProxied = true,
  port = 0,
  addRoutes,
  corsOrigins,
  hasJobs,
  ...options
}: SignedInOptions & { readonly isProxied?: boolean } = {}): Promise<SignedInService> {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-ended-sessions-'));
  const policyOf = (known: readonly UserEntry[]) => createPolicy(known, grants);
  let policy = policyOf(people);
  const authenticatorOptions = {
    key: randomBytes(32),
    sessionLifetime: 3600,
    endedSessionsFolder: join(folder, 'ended-sessions'),
    publicUrl: undefined,
    basePath: '',
    ...options,
    policy: () => policy,
    warn: () => {},
  };
  const events: (AuditEvent & Actor)[] = [];
  const audit: Audit = {
    write: (event, client) => void events.push({ ...client, ...event }),
    reopen: () => {},
    close: () => {},
  };
  const service = await startService(memory, {
    access: (appTokens) => ({
      mode: 'file',
      policy: () => policy,
      authenticators: createAuthenticators({ ...authenticatorOptions, appTokens }),
    }),
    audit,
    port,
    addRoutes,
    corsOrigins,
    hasJobs,
    publicUrl: options.publicUrl,
    basePath: options.basePath,
    limits: { trustProxy: isProxied && ['loopback'] },
  });
  const { authenticators } = service.access;
  assert.ok(authenticators);
  return {
    ...service,
    authenticators,
    events,
    change: (known) => {
      policy = policyOf(known);
    },
    async stop() {
      await service.stop();
      await authenticators.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function person(name: string, parts: Partial<UserEntry> = {}): UserEntry {
  return { name, password: undefined, groups: [], tokens: [], ...parts };
}
