import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Actor, AuditEvent, AuthenticationMethod } from '../../access/audit.ts';
import { GuardedFiles } from '../../access/guard.ts';
import { type Identity, PERMISSIONS, type Permission } from '../../access/policy.ts';
import { createSubmitter, type Submitter } from '../../access/submitter.ts';
import { LockableFiles } from '../../dav/lockable-files.ts';
import type { Files } from '../../files/files.ts';
import { type RecordedChange, RecordedFiles, type RecordedFilesOptions } from '../../files/recorded-files.ts';
import type { FolderPath } from '../../model/path.ts';
import { HttpError } from '../errors.ts';
import { pathOf, withoutLinkTokens } from '../request-url.ts';
import type { Service } from '../service.ts';
import type { Authentication } from './authentication.ts';

/**
 * The access control of a route. `files`: every action goes through `RequestAccess.files`, which checks permissions.
 * `signature`: the URL carries its own permission. `public`: the route reveals nothing about files. `health`: also
 * public, and accepted with any Host header, for health checks. `jobs`: the route is for a user's own uploads in parts, jobs or locks,
 * and for all jobs if they manage the root. `links`: the route shows a user's own share links, and all links to what the user manages. `root`: the route is only for users who manage the root, which is checked before the body is
 * read, and again before the route runs.
 */
export type RouteAccess = 'files' | 'jobs' | 'links' | 'root' | 'signature' | 'public' | 'health';

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
  readonly authMethod: AuthenticationMethod | undefined;
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
  /** Returns the user and the credential of the request, for work that continues after it and records its refusals. */
  submitter(): Submitter;
  /** Throws if the request is stale and its user no longer has the same identity. */
  confirm(): Promise<void>;
  /** Records an audit event of this request. */
  record(event: AuditEvent): void;
  /** Records that the request was refused, unless that is already recorded. */
  recordRefusal(reason: string): void;
  /** Returns the values of `WWW-Authenticate`. */
  challenges(): string[];
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

  get authMethod(): AuthenticationMethod | undefined {
    return this.#authentication?.authMethod;
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
      filesOf(this.#service, { ...options, user: user?.name, onRecorded: (change) => this.#changes.push(change) }),
      {
        isHidden: isForDav ? undefined : this.#service.dav?.isHidden,
        policy: () => this.#service.access.policy(),
        user,
        confirm: () => this.confirm(),
        record: (event) => this.record(event),
      },
    );
  }

  permissionsFor(folder: FolderPath): Permission[] | undefined {
    const { access } = this.#service;
    return access.mode === 'file'
      ? PERMISSIONS.filter((permission) => access.policy().allows(this.user, permission, folder))
      : undefined;
  }

  submitter(): Submitter {
    // The work records its own refusals.
    this.#isRecorded = true;
    return createSubmitter(this.#actor(), this.#authentication?.tokenHash, this.#service.access.policy());
  }

  record(event: AuditEvent): void {
    this.#isRecorded = true;
    this.#service.audit.write(event.outcome === 'refused' ? withoutTokens(event) : event, this.#actor());
  }

  #actor(): Actor {
    const { ip, id } = this.#request;
    return { user: this.user, authMethod: this.authMethod, clientAddress: ip, requestId: id };
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

  challenges(): string[] {
    return this.#service.access.authenticators?.challenges(this.#request) ?? [];
  }

  async confirm(): Promise<void> {
    if (this.#authentication === undefined || performance.now() - this.#startedAt < REAUTHENTICATION_AGE_MS) return;
    const { authenticators } = this.#service.access;
    const current = await authenticators?.reauthenticate(this.#request, this.#reply).catch((error: unknown) => {
      if (error instanceof HttpError && error.status === 401) return undefined;
      throw error;
    });
    if (current?.user.name === this.#authentication.user.name) return;
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
}

const NO_TOKENS: ReadonlySet<string> = new Set();

/** Returns the files, with their changes recorded, and without the changes that locks forbid. */
export function filesOf(
  { files, changes, dav }: Pick<Service, 'files' | 'changes' | 'dav'>,
  { lockTokens = NO_TOKENS, ...options }: FilesOfUser,
): Files {
  const recorded = changes ? new RecordedFiles(files, changes.recorder, options) : files;
  if (!dav) return recorded;
  const { locks, properties, onError } = dav;
  return new LockableFiles(recorded, {
    locks,
    properties,
    onError,
    holder: { user: options.user, tokens: lockTokens },
  });
}

/** The ID of a change in a response, if the change log has it. */
export interface ChangeField {
  readonly change?: string;
}

/** Returns the ID of the last change of the request, for users: visitors of share links undo nothing. */
export function changeOf(request: FastifyRequest): ChangeField {
  const { changes, authMethod } = accessOf(request);
  const id = authMethod === 'link' ? undefined : changes.at(-1)?.id;
  return id === undefined ? {} : { change: id };
}
