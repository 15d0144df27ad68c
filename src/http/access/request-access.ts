import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor, AuditEvent, AuthenticationMethod } from '../../access/audit.ts';
import type { Credential } from '../../access/creator.ts';
import { GuardedFiles } from '../../access/guard.ts';
import { limitPolicy } from '../../access/limited-policy.ts';
import { type Identity, PERMISSIONS, type Permission, type Policy } from '../../access/policy.ts';
import { createSubmitter, type Submitter } from '../../access/submitter.ts';
import { inactiveReasonOf } from '../../app-tokens/app-token.ts';
import { LockableFiles } from '../../dav/lockable-files.ts';
import type { Files } from '../../files/files.ts';
import { type RecordedChange, RecordedFiles, type RecordedFilesOptions } from '../../files/recorded-files.ts';
import type { FolderPath } from '../../model/path.ts';
import { HttpError } from '../errors.ts';
import { pathOf, withoutLinkTokens } from '../request-url.ts';
import type { Service } from '../service.ts';
import type { Authentication } from './authentication.ts';
import { type Read, whenSent } from './reads.ts';

/**
 * The access control of a route. `files`: every action goes through `RequestAccess.files`, which checks permissions.
 * `signature`: the URL carries its own permission. `public`: the route reveals nothing about files. `health`: also
 * public, and accepted with any Host header, for health checks. `jobs`: the route is for a user's own uploads in parts, jobs or locks,
 * and for all jobs if they manage the root. `links`: the route shows a user's own share links, and all links to what the user manages. `app-tokens`: the route shows a user's own app tokens. `root`: the route is only for users who manage the root, which is checked before the body is
 * read, and again before the route runs. Requests with an app token can't use routes of `links`, `app-tokens` and `root`.
 */
export type RouteAccess = 'files' | 'jobs' | 'links' | 'app-tokens' | 'root' | 'signature' | 'public' | 'health';

/**
 * Which visitors of a share link can use a route. `visitors`: all who have entered its password. `locked`: also before they
 * have. `anyone`: everyone, because the route reveals nothing about a link.
 */
export type LinkRouteAccess = 'visitors' | 'locked' | 'anyone';

/**
 * `explicit`: only `Authorization` authenticates. Cookies are ignored, so other sites can't use the session of a browser, and
 * requests without credentials get a Basic challenge, also in browsers: the clients of the route have no sign-in page.
 */
export type RouteCredentials = 'explicit';

/** The user of a request and their permissions. */
export interface RequestAccess {
  readonly user: Identity | undefined;
  /** Whether the request is anonymous although there are users: it learns nothing about them. */
  readonly isAnonymous: boolean;
  readonly authMethod: AuthenticationMethod | undefined;
  /** The ID of the app token; undefined for other authentication methods. */
  readonly appToken: string | undefined;
  /** What limits the things that the request creates. */
  readonly credential: Credential;
  /** The files, with permission checks. Routes have no other access to files. */
  readonly files: GuardedFiles;
  /** The changes that the request has made so far. */
  readonly changes: readonly RecordedChange[];
  /** Returns the files for the steps that undo a change: their changes are recorded as its reversal. */
  filesToUndo(sequence: number): GuardedFiles;
  /** Returns the files for a request that holds the locks with these tokens. */
  filesWithLocks(tokens: ReadonlySet<string>): GuardedFiles;
  /** Returns the user's permissions for a folder; undefined if access control has no users. */
  permissionsFor(folder: FolderPath): Permission[] | undefined;
  /** Returns whether everyone can read a folder, also without signing in. Only users who read and manage it learn that. */
  isKnownPublic(folder: FolderPath): boolean;
  /** Returns the user and the credential of the request, for work that continues after it and records its refusals. */
  submitter(): Submitter;
  /**
   * Watches the app token of the request, so that long work can end with it. Undefined for other authentication methods.
   * `release` ends the watch.
   */
  watchAppToken(): WatchedCredential | undefined;
  /** Throws if the request is stale or has an app token, and its user no longer has the same identity. */
  confirm(): Promise<void>;
  /** Records an audit event of this request. */
  record(event: AuditEvent): void;
  /** Records that the request was refused, unless that is already recorded. */
  recordRefusal(reason: string): void;
  /** Records a read when the response has ended, if the audit log has reads. Call before the response is sent. */
  recordRead(read: Read): void;
  /** Returns the values of `WWW-Authenticate`. */
  challenges(): string[];
}

/** A credential that is watched while a request uses it. */
export interface WatchedCredential {
  /** Aborts within two seconds after the credential was revoked or has expired. */
  readonly signal: AbortSignal;
  release(): void;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: RouteAccess;
    /** Undefined for routes that don't exist below the URL of a share link. */
    links?: LinkRouteAccess;
    /** Whether the route exists only below the URL of a share link. */
    isOnlyForLinks?: boolean;
    /** Whether the route is for WebDAV clients, which see files that are hidden from others. */
    isForDav?: boolean;
    /** Undefined for routes that accept session cookies. */
    credentials?: RouteCredentials;
    /** Headers of the response to OPTIONS for the path. */
    optionsHeaders?: Readonly<Record<string, string>>;
  }
  interface FastifyRequest {
    /** Undefined only if a request was refused before the guard ran. */
    access?: RequestAccess;
  }
}

/** Returns the access of a request that has reached its route. */
export function accessOf({ access }: FastifyRequest): RequestAccess {
  if (access) return access;
  throw new Error('The request reached its route before guardRequests.');
}

/** Returns the user information that the web UI gets. */
export function describeUser({ access }: Service, request: FastifyRequest) {
  if (!access.authenticators) return null;
  return { name: request.access?.user?.name ?? null, signIn: access.authenticators.signInMethods() };
}

const NO_LIMIT: Credential = {};

/** Milliseconds after which a request is stale: its user is authenticated again before it changes anything. */
const REAUTHENTICATION_AGE_MS = 1000;

/**
 * A class, because one is created per request. Getters of object literals create a hidden class per object, which keeps
 * the request in memory until the next full collection.
 */
export class UserRequestAccess implements RequestAccess {
  readonly #service: Service;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #authentication: Authentication | undefined;
  readonly #startedAt = performance.now();
  #isRecorded = false;
  #files: GuardedFiles | undefined;
  readonly #changes: RecordedChange[] = [];
  /** The limited policy of an app token, and the policy of the service from which it was created. */
  #limited: { readonly of: Policy; readonly policy: Policy } | undefined;

  constructor(
    service: Service,
    request: FastifyRequest,
    reply: FastifyReply,
    authentication: Authentication | undefined,
  ) {
    this.#service = service;
    this.#request = request;
    this.#reply = reply;
    this.#authentication = authentication;
  }

  get user(): Identity | undefined {
    return this.#authentication?.user;
  }

  get isAnonymous(): boolean {
    return this.user === undefined && this.#service.access.mode === 'file';
  }

  get authMethod(): AuthenticationMethod | undefined {
    return this.#authentication?.authMethod;
  }

  get appToken(): string | undefined {
    return this.#authentication?.appToken?.id;
  }

  get credential(): Credential {
    return this.#authentication ?? NO_LIMIT;
  }

  get files(): GuardedFiles {
    this.#files ??= this.#guardedFiles();
    return this.#files;
  }

  get changes(): readonly RecordedChange[] {
    return this.#changes;
  }

  filesToUndo(undoes: number): GuardedFiles {
    return this.#guardedFiles({ undoes });
  }

  filesWithLocks(lockTokens: ReadonlySet<string>): GuardedFiles {
    return this.#guardedFiles({ lockTokens });
  }

  #guardedFiles(options: Pick<FilesOfUser, 'undoes' | 'lockTokens'> = {}): GuardedFiles {
    const { user } = this;
    const { isForDav = false } = this.#request.routeOptions.config;
    return new GuardedFiles(
      filesOf(this.#service, {
        ...options,
        user: user?.name,
        appToken: this.appToken,
        onRecorded: (change) => this.#changes.push(change),
      }),
      {
        isHidden: isForDav ? undefined : this.#service.dav?.isHidden,
        policy: () => this.#currentPolicy(),
        user,
        isAppToken: this.appToken !== undefined,
        isAnonymous: this.isAnonymous,
        historyPermission: this.#service.access.historyPermission,
        confirm: () => this.confirm(),
        record: (event) => this.record(event),
      },
    );
  }

  permissionsFor(folder: FolderPath): Permission[] | undefined {
    if (this.#service.access.mode !== 'file') return undefined;
    const policy = this.#currentPolicy();
    return PERMISSIONS.filter((permission) => policy.allows(this.user, permission, folder));
  }

  isKnownPublic(folder: FolderPath): boolean {
    const permissions = this.user && this.permissionsFor(folder);
    if (!permissions?.includes('read') || !permissions.includes('manage')) return false;
    return this.#service.access.policy().allows(undefined, 'read', folder);
  }

  /** Returns the policy of this moment: for an app token, as far as the token allows. */
  #currentPolicy(): Policy {
    const of = this.#service.access.policy();
    const limit = this.#authentication?.appToken;
    if (!limit) return of;
    // The same policy has the same object, by which streams notice a change.
    if (this.#limited?.of !== of) this.#limited = { of, policy: limitPolicy(of, limit) };
    return this.#limited.policy;
  }

  submitter(): Submitter {
    // The work records its own refusals.
    this.#isRecorded = true;
    const { tokenHash, appToken } = this.#authentication ?? {};
    const limit = appToken && { folder: appToken.folder, permissions: appToken.permissions };
    return createSubmitter(this.#actor(), { tokenHash, limit }, this.#service.access.policy());
  }

  watchAppToken(): WatchedCredential | undefined {
    const { access, appTokens } = this.#service;
    const id = this.appToken;
    if (id === undefined || !appTokens) return undefined;
    const ended = new AbortController();
    const release = appTokens.watch.add({
      id,
      isAllowed: (token) => inactiveReasonOf(token, access.policy()) === undefined,
      end: () => ended.abort(new HttpError('session-ended', 'The app token was revoked or has expired.')),
    });
    return { signal: ended.signal, release };
  }

  record(event: AuditEvent): void {
    this.#isRecorded = true;
    this.#service.audit.write(event.outcome === 'refused' ? withoutTokens(event) : event, this.#actor());
  }

  #actor(): Actor {
    const { ip, id } = this.#request;
    return { user: this.user, authMethod: this.authMethod, appToken: this.appToken, clientAddress: ip, requestId: id };
  }

  recordRefusal(reason: string): void {
    if (this.#isRecorded) return;
    this.record({
      event: 'refusal',
      action: this.#request.method,
      path: pathOf(this.#request),
      outcome: 'refused',
      reason,
    });
  }

  recordRead(read: Read): void {
    const { auditReads, audit } = this.#service;
    if (!auditReads) return;
    const actor = this.#actor();
    whenSent(this.#request, this.#reply, read, (event) => audit.write(event, actor));
  }

  challenges(): string[] {
    return this.#service.access.authenticators?.challenges(this.#request) ?? [];
  }

  async confirm(): Promise<void> {
    if (this.#authentication === undefined) return;
    // An app token is cached, so that checking it again costs little.
    const isFresh = performance.now() - this.#startedAt < REAUTHENTICATION_AGE_MS;
    if (isFresh && this.appToken === undefined) return;
    const { authenticators } = this.#service.access;
    const current = await authenticators?.reauthenticate(this.#request, this.#reply).catch((error: unknown) => {
      if (error instanceof HttpError && error.status === 401) return undefined;
      throw error;
    });
    const { user, appToken } = this.#authentication;
    if (current?.user.name === user.name && current.appToken?.id === appToken?.id) return;
    throw new HttpError('session-ended', 'Your session expired. Sign in again.');
  }
}

/** Returns a refusal without the tokens of share links, whose misspelled URLs name files. */
function withoutTokens(refusal: AuditEvent): AuditEvent {
  const { path, reason } = refusal;
  return {
    ...refusal,
    ...(path !== undefined && { path: withoutLinkTokens(path) }),
    ...(reason !== undefined && { reason: withoutLinkTokens(reason) }),
  };
}

interface FilesOfUser extends RecordedFilesOptions {
  /** The tokens of the locks that the request holds. Default: none */
  readonly lockTokens?: ReadonlySet<string> | undefined;
  /** The ID of the app token of the request. */
  readonly appToken?: string | undefined;
}

const NO_TOKENS: ReadonlySet<string> = new Set();

/** Returns the files, with their changes recorded, and without the changes that locks forbid. */
export function filesOf(
  { files, changes, dav }: Pick<Service, 'files' | 'changes' | 'dav'>,
  { lockTokens = NO_TOKENS, appToken, ...options }: FilesOfUser,
): Files {
  const recorded = changes
    ? new RecordedFiles(files, changes.recorder, { ...options, identify: changes.identify })
    : files;
  if (!dav) return recorded;
  const { locks, properties, onError } = dav;
  return new LockableFiles(recorded, {
    locks,
    properties,
    onError,
    holder: { user: options.user, appToken, tokens: lockTokens },
  });
}

/** The ID of a change in a response, if the change log has it. */
export interface ChangeField {
  readonly change?: string;
}

/** Returns the ID of the last change of the request, for users: visitors of share links and anonymous users undo nothing. */
export function changeOf(request: FastifyRequest): ChangeField {
  const { changes, isAnonymous } = accessOf(request);
  const id = isAnonymous ? undefined : changes.at(-1)?.id;
  return id === undefined ? {} : { change: id };
}
