import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Actor, Audit, AuditEvent } from '../../src/access/audit.ts';
import { createToken } from '../../src/access/credentials.ts';
import { createPolicy, type Grant, type Permission, type Subject } from '../../src/access/policy.ts';
import { walk } from '../../src/files/fallbacks.ts';
import { createAuthenticators } from '../../src/http/access/authentication.ts';
import { parseFile, parseFolder } from '../../src/model/path.ts';
import { mediaTypeOf } from '../../src/model/presentation.ts';
import type { Store } from '../../src/model/store.ts';
import { type Backend, memory } from '../contract/backend.ts';
import { BOUNDARY, type Call, type FormPart, formOf, type HttpResponse, send } from '../http/client.ts';
import { type ServiceOptions, startService, type TestService } from '../http/service.ts';

/** A service with a token of the user Ann. A test can change the grants between requests. */
export interface GuardedService {
  readonly store: Store;
  readonly port: number;
  /** The share links; undefined without jobs. */
  readonly links: TestService['links'];
  /** The change log; undefined without jobs. */
  readonly changes: TestService['changes'];
  /** The app tokens; undefined without jobs. */
  readonly appTokens: TestService['appTokens'];
  /** The name of the session cookie. */
  readonly sessionCookie: string;
  /** The headers that authenticate a request as Ann. */
  readonly authHeaders: Readonly<Record<string, string>>;
  /** Returns the audit events since the last call, without addresses and request IDs. */
  events(): readonly Record<string, unknown>[];
  grant(...grants: readonly Grant[]): void;
  /** Removes the user Ann, and keeps the grants. */
  removeAnn(): void;
  /** Stores files by their paths, and removes all others. */
  plant(files: Readonly<Record<string, string | Buffer>>): Promise<void>;
  /** Returns the text of each file in the store. */
  contents(): Promise<Record<string, string>>;
  /** Removes everything in the store, its trash and its versions, all grants, and the events. */
  empty(): Promise<void>;
  /** Sends a request as Ann. */
  asAnn(path: string, call?: Call): Promise<HttpResponse>;
  /** Sends a request as an anonymous user. */
  asAnonymous(path: string, call?: Call): Promise<HttpResponse>;
  stop(): Promise<void>;
}

export async function startGuardedService(
  backend: Backend = memory,
  options: Pick<
    ServiceOptions,
    | 'auditReads'
    | 'basePath'
    | 'corsOrigins'
    | 'hasJobs'
    | 'isDirect'
    | 'maxUploadSize'
    | 'readOnly'
    | 'scheduled'
    | 'webhookNetworks'
    | 'wrap'
  > = {},
): Promise<GuardedService> {
  const folder = await mkdtemp(join(tmpdir(), 'holdall-test-guarded-'));
  const { token, hash } = createToken();
  const ann = { name: 'ann', password: undefined, groups: [], tokens: [{ name: 'laptop', hash, expires: undefined }] };
  let granted: readonly Grant[] = [];
  let policy = createPolicy([ann], granted);
  const authenticatorOptions = {
    policy: () => policy,
    key: randomBytes(32),
    sessionLifetime: 60,
    endedSessionsFolder: folder,
    publicUrl: undefined,
    basePath: options.basePath ?? '',
    warn: () => {},
  };
  const events: Record<string, unknown>[] = [];
  const write = (event: AuditEvent, { user, authMethod, appToken }: Actor) => {
    events.push({ ...(appToken !== undefined && { appToken }), ...event, who: user?.name, way: authMethod });
  };
  const audit: Audit = { write, reopen: () => {}, close: () => {} };
  let sessionCookie = '';
  const service = await startService(backend, {
    access: (appTokens) => {
      const authenticators = createAuthenticators({ ...authenticatorOptions, appTokens });
      sessionCookie = authenticators.sessionCookie;
      return { mode: 'file', policy: () => policy, authenticators };
    },
    audit,
    ...options,
  });
  const { store, port, links, appTokens, changes } = service;

  return {
    store,
    port,
    links,
    appTokens,
    changes,
    sessionCookie,
    authHeaders: { authorization: `Bearer ${token}` },
    removeAnn() {
      policy = createPolicy([], granted);
    },
    events: () => events.splice(0),
    grant(...grants) {
      granted = grants;
      policy = createPolicy([ann], grants);
    },
    async plant(files) {
      for (const { kind, path } of await Array.fromAsync(walk(store, parseFolder('')))) {
        if (kind === 'file') await store.remove(parseFile(path));
      }
      for (const [path, bytes] of Object.entries(files)) {
        await store.write(parseFile(path), { body: Readable.from([Buffer.from(bytes)]), type: mediaTypeOf(path) });
      }
    },
    contents: () => contentsOf(store),
    async empty() {
      await service.empty();
      granted = [];
      policy = createPolicy([ann], granted);
      events.length = 0;
    },
    asAnn: (path, call = {}) =>
      send(port, path, { ...call, headers: { authorization: `Bearer ${token}`, ...call.headers } }),
    asAnonymous: (path, call) => send(port, path, call),
    async stop() {
      await service.stop();
      await service.access.authenticators?.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns a grant, by default to Ann. */
export function grant(
  folder: string,
  rights: readonly Permission[],
  to: Subject = { kind: 'person', name: 'ann' },
): Grant {
  return { folder: parseFolder(folder), to, permissions: rights };
}

export const EVERYONE: Subject = { kind: 'everyone' };

/** Requests progress lines for a folder operation. */
export const NDJSON = { accept: 'application/x-ndjson' };

/** Returns a request with a JSON body. */
export function json(body: object, headers: Readonly<Record<string, string>> = {}): Call {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
}

/** Returns a request with a form. */
export function form(parts: readonly FormPart[], headers: Readonly<Record<string, string>> = {}): Call {
  return {
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}`, ...headers },
    body: formOf(parts),
  };
}

async function contentsOf(store: Store): Promise<Record<string, string>> {
  const contents: Record<string, string> = {};
  for await (const entry of walk(store, parseFolder(''))) {
    if (entry.kind === 'folder') continue;
    const { body } = await store.read(entry.path);
    contents[entry.path] = (await body.toArray()).join('');
  }
  return contents;
}
