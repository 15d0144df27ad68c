import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { AccessDenied } from '../../access/access-denied.ts';
import type { AuditEvent } from '../../access/audit.ts';
import { type GuardedFiles, guardFiles } from '../../access/guard.ts';
import type { Identity, Way } from '../../access/identity.ts';
import { RIGHTS, type Right } from '../../access/rights.ts';
import type { FolderPath } from '../../domain/path.ts';
import { HttpError } from '../errors.ts';
import type { App, Service } from '../service.ts';
import { refuseForeignSite } from './foreign-sites.ts';
import { nameOf, requireKnownHost } from './hosts.ts';
import type { Proof, WaysIn } from './ways-in.ts';

/**
 * What a route needs of who asks. `files`: what it does goes through `RequestAccess.files`, which allows it or not.
 * `signature`: the URL carries its own permission. `public`: nothing, as it gives away nothing of the files. `health`:
 * nothing either, and under whatever name the service is asked, as by those who watch over it.
 */
export type RouteAccess = 'files' | 'signature' | 'public' | 'health';

/** Who sent a request, and what they may do. */
export interface RequestAccess {
  readonly who: Identity | undefined;
  readonly way: Way | undefined;
  /** The only way from a request to the files. */
  readonly files: GuardedFiles;
  /** What the asker may do in a folder; undefined where there is nobody to be. */
  rightsAt(folder: FolderPath): Right[] | undefined;
  /** Writes an event of this request down. */
  record(event: AuditEvent): void;
  /** Writes down that the request was refused, unless it was written down already. */
  recordRefusal(reason: string): void;
  /** The values of `WWW-Authenticate`. */
  challenges(): string[];
}

declare module 'fastify' {
  interface FastifyContextConfig {
    access?: RouteAccess;
  }
  interface FastifyRequest {
    /** Absent only where a request was refused before the guard. */
    access?: RequestAccess;
  }
}

/**
 * The one guard of all routes: for whom the request is, who sent it, and what they may do. Every route says in its
 * `config` what it needs; the application does not start with one that says nothing.
 */
export function guardRequests(app: App, service: Service): void {
  requireDeclarations(app);
  app.decorateRequest('access');
  const { access, publicUrl, contentOrigin } = service;
  const isLocal = access.mode === 'local';
  // Contents have a host of their own beside that of the page.
  const addresses = publicUrl === undefined ? [] : [publicUrl, ...(contentOrigin === undefined ? [] : [contentOrigin])];
  const known = addresses.map((address) => nameOf(new URL(address).host));

  const recognise = async (waysIn: WaysIn, request: FastifyRequest, reply: FastifyReply) => {
    const asker = await waysIn.authenticate(request, reply);
    if (asker) request.access = new AskerAccess(service, request, reply, asker);
  };

  app.addHook('onRequest', (request, reply, done) => {
    const needed = request.routeOptions.config.access;
    request.access = new AskerAccess(service, request, reply, undefined);
    if (needed !== 'health') requireKnownHost(request, { isLocal, known });
    const isPrivate = needed !== 'signature' && (isLocal || hasAmbientCredentials(request));
    refuseForeignSite(request, { publicUrl, isPrivate });
    // Whoever signs out must be able to while it can't be told who they are.
    const isOfAsker = needed !== 'health' && needed !== 'signature' && needed !== 'public';
    if (access.waysIn && isOfAsker) recognise(access.waysIn, request, reply).then(() => done(), done);
    else done();
  });
}

/** What `guardRequests` found of a request that has come to its route. */
export function accessOf({ access }: FastifyRequest): RequestAccess {
  if (access) return access;
  throw new Error('A request came to its route without passing the guard.');
}

/** What the page is told of who asks. */
export function describeAsker({ access }: Service, request: FastifyRequest) {
  if (!access.waysIn) return null;
  return { name: request.access?.who?.name ?? null, signIn: access.waysIn.signIn() };
}

function requireDeclarations(app: App): void {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => void routes.push(route as RouteOptions));
  app.addHook('onReady', async () => {
    const silent = routes.filter(({ config }) => config?.access === undefined);
    if (silent.length === 0) return;
    const names = silent.map(({ method, url }) => `${[method].flat().join(', ')} ${url}`);
    throw new Error(`These routes do not say what access they need: ${names.join('; ')}.`);
  });
}

/** Milliseconds after which a request is old: who sent it is asked anew before it changes something. */
const STALE = 1000;

/**
 * A class, as there is one for each request: getters of object literals make a hidden class of their own for each object,
 * which keeps its request in memory until the next full collection.
 */
class AskerAccess implements RequestAccess {
  readonly #service: Service;
  readonly #request: FastifyRequest;
  readonly #reply: FastifyReply;
  readonly #asker: Proof | undefined;
  readonly #began = performance.now();
  #isRecorded = false;
  #files: GuardedFiles | undefined;

  constructor(service: Service, request: FastifyRequest, reply: FastifyReply, asker: Proof | undefined) {
    this.#service = service;
    this.#request = request;
    this.#reply = reply;
    this.#asker = asker;
  }

  get who(): Identity | undefined {
    return this.#asker?.who;
  }

  get way(): Way | undefined {
    return this.#asker?.way;
  }

  get files(): GuardedFiles {
    this.#files ??= guardFiles(this.#service.files, {
      policy: () => this.#service.access.policy(),
      who: this.who,
      confirm: () => this.#confirm(),
      record: (event) => this.record(event),
    });
    return this.#files;
  }

  rightsAt(folder: FolderPath): Right[] | undefined {
    const { access } = this.#service;
    return access.mode === 'file' ? RIGHTS.filter((right) => access.policy().may(this.who, right, folder)) : undefined;
  }

  record(event: AuditEvent): void {
    this.#isRecorded = true;
    const { ip, id } = this.#request;
    this.#service.audit.write(event, { who: this.who, way: this.way, from: ip, requestId: id });
  }

  recordRefusal(reason: string): void {
    if (this.#isRecorded) return;
    const { method, url } = this.#request;
    this.record({ event: 'refusal', action: method, path: url.split('?')[0] ?? '', outcome: 'refused', reason });
  }

  challenges(): string[] {
    return this.#service.access.waysIn?.challenges(this.#request) ?? [];
  }

  /** Throws where the asker is not who they were any more, if the request is old. */
  async #confirm(): Promise<void> {
    if (this.#asker === undefined || performance.now() - this.#began < STALE) return;
    const { waysIn } = this.#service.access;
    const now = await waysIn?.authenticateAnew(this.#request, this.#reply).catch((error: unknown) => {
      if (error instanceof HttpError && error.status === 401) return undefined;
      throw error;
    });
    if (now?.who.name === this.#asker.who.name) return;
    throw new AccessDenied('What you signed in with has ended meanwhile. Sign in again.', { isAnonymous: true });
  }
}

/** Whether the request has credentials that a browser adds by itself, whoever made it send the request. */
function hasAmbientCredentials({ headers }: FastifyRequest): boolean {
  return /(?:^|;\s*)(?:__Host-)?holdall=/.test(headers.cookie ?? '') || /^basic\s/i.test(headers.authorization ?? '');
}
