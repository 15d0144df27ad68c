import type { FastifyReply, FastifyRequest } from 'fastify';
import { deriveKey } from '../../access/derived-keys.ts';
import type { Identity, Policy, UserEntry } from '../../access/policy.ts';
import type { Session, Sessions } from '../../access/sessions.ts';
import { HttpError } from '../errors.ts';

/** Sessions that browsers store in a cookie. */
export interface SessionCookie {
  /** The name of the cookie, without the prefix of HTTPS. */
  readonly name: string;
  /**
   * Returns the session of the request; undefined if it has no session cookie, or several. Clears a cookie without a
   * valid session.
   */
  find(request: FastifyRequest, reply: FastifyReply): Promise<Session | undefined>;
  /** Begins a new session, and ends all sessions whose cookies the request has. */
  begin(request: FastifyRequest, reply: FastifyReply, session: NewSession): Promise<void>;
  /** Ends every session whose cookie the request has, on all servers. Returns the first one. */
  end(request: FastifyRequest, reply: FastifyReply): Promise<Session | undefined>;
}

/** The user of a new session, the sign-in method, and the user's entry of the access file. */
export interface NewSession {
  readonly user: Identity;
  readonly signInMethod: Session['signInMethod'];
  readonly userEntry: UserEntry | undefined;
}

export interface SessionCookieOptions extends CookieScope {
  readonly sessions: Sessions;
  readonly policy: () => Policy;
  /** Seconds that a session lasts. */
  readonly sessionLifetime: number;
}

/**
 * Maximum characters of the cookie value. With its name and attributes, it fits the 4096 bytes that browsers support
 * (RFC 6265, section 6.1).
 */
const MAX_TOKEN_LENGTH = 3900;

export function createSessionCookie({
  sessions,
  policy,
  sessionLifetime,
  ...scope
}: SessionCookieOptions): SessionCookie {
  const cookie = createCookie('holdall', scope);

  const revokeAll = async (request: FastifyRequest) => {
    const tokens = cookie.all(request).filter((token) => token.length <= MAX_TOKEN_LENGTH);
    // If one session can't be revoked, the others still are.
    const outcomes = await Promise.allSettled(tokens.map((token) => sessions.revoke(token)));
    return outcomes.flatMap((outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason;
      return outcome.value ?? [];
    });
  };

  return {
    name: cookie.name,
    async find(request, reply) {
      const [token, ...others] = cookie.all(request);
      // Over plain HTTP, another host of the same domain can set a second cookie. It is unknown which one is ours, so
      // neither signs the user in. Neither is cleared either: ours is valid again once the other is gone, and no other
      // host can delete it.
      if (token === undefined || others.length > 0) return undefined;
      const session = token.length > MAX_TOKEN_LENGTH ? undefined : await sessions.find(token, policy());
      if (!session) cookie.clear(request, reply);
      return session;
    },
    async begin(request, reply, { user, signInMethod, userEntry }) {
      const { sessionToken } = await sessions.create(user, signInMethod, userEntry);
      if (sessionToken.length > MAX_TOKEN_LENGTH) throw new HttpError('sign-in-refused', describeTooManyGroups(user));
      await revokeAll(request);
      cookie.set(request, reply, sessionToken, sessionLifetime);
    },
    async end(request, reply) {
      // Even if revoking the session fails, this browser is signed out.
      if (cookie.isSent(request)) cookie.clear(request, reply);
      const [first] = await revokeAll(request);
      return first;
    },
  };
}

function describeTooManyGroups({ groups }: Identity): string {
  return (
    `The identity provider sent more groups (${groups.length}) than a session cookie can hold. ` +
    'Ask the administrator to reduce them, or to set OIDC_GROUPS_CLAIM to another claim.'
  );
}

/**
 * A cookie of the service. Scripts can't read it (`HttpOnly`), and other sites send it only with navigations
 * (`SameSite=Lax`).
 */
export interface Cookie {
  /** The name, without the prefix of HTTPS. */
  readonly name: string;
  /** Returns the value; undefined if the request has no such cookie, or several, of which any can be foreign. */
  read(request: FastifyRequest): string | undefined;
  /** Returns all distinct values that the request has for this name. */
  all(request: FastifyRequest): readonly string[];
  /** Returns whether the request has a cookie of this name. */
  isSent(request: FastifyRequest): boolean;
  /** Sets the cookie for `seconds` seconds, or until the browser closes. */
  set(request: FastifyRequest, reply: FastifyReply, value: string, seconds?: number): void;
  /** Clears the cookie. */
  clear(request: FastifyRequest, reply: FastifyReply): void;
}

/** The service whose cookies these are. */
export interface CookieScope {
  /** The key of the service. */
  readonly key: Buffer;
  readonly publicUrl: string | undefined;
  readonly basePath: string;
}

/**
 * Returns the name of a cookie of this service, such as `holdall-1f0c93ab`. Browsers send cookies to all ports of a host, so
 * without the suffix, several services on one host would replace each other's cookies. Replicas have the same key.
 */
function cookieName(purpose: string, { key, basePath }: CookieScope): string {
  return `${purpose}-${deriveKey(key, `cookie name ${basePath}`).toString('hex', 0, 4)}`;
}

/** Returns whether a request has a cookie of this name, with or without the prefix of HTTPS. */
export function isCookieSent(request: FastifyRequest, name: string): boolean {
  if (request.headers.cookie === undefined) return false;
  return [name, HOST_PREFIX + name, SECURE_PREFIX + name].some((each) => valuesOf(request, each).length > 0);
}

/** Returns whether the route of a request ignores cookies: `credentials` of its `config`. */
export function ignoresCookies({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.credentials === 'explicit';
}

const HOST_PREFIX = '__Host-';
const SECURE_PREFIX = '__Secure-';

/**
 * Creates a cookie. Over HTTPS, its name has the prefix `__Host-`. Other hosts then can't set it, and browsers never
 * send it unencrypted (RFC 6265bis, section 4.1.3.2). Such a cookie must have the path `/`. With `pathOf`, the cookie
 * is limited to a path of the service, and its prefix is `__Secure-`.
 */
export function createCookie(
  purpose: string,
  scope: CookieScope,
  { pathOf }: { readonly pathOf?: (request: FastifyRequest) => string } = {},
): Cookie {
  const { publicUrl, basePath } = scope;
  const name = cookieName(purpose, scope);
  const serviceUrl = publicUrl === undefined ? undefined : new URL(publicUrl);
  // Behind an untrusted proxy that terminates TLS, the request appears as HTTP, but its host is that of the public
  // HTTPS URL.
  const isSecure = ({ protocol, host }: FastifyRequest) =>
    protocol === 'https' || (serviceUrl?.protocol === 'https:' && serviceUrl.host === host);
  const prefix = pathOf ? SECURE_PREFIX : HOST_PREFIX;
  const nameFor = (request: FastifyRequest) => (isSecure(request) ? prefix + name : name);
  // A reverse proxy can remove the path of the public URL.
  const publicPath = basePath || (serviceUrl?.pathname ?? '').replace(/(?<!\/)\/+$/, '');
  const pathFor = (request: FastifyRequest) => {
    if (pathOf) return (serviceUrl?.host === request.host ? publicPath : basePath) + pathOf(request);
    return isSecure(request) ? '/' : basePath || '/';
  };
  const set = (request: FastifyRequest, reply: FastifyReply, value: string, seconds?: number) => {
    const age = seconds === undefined ? '' : ` Max-Age=${seconds};`;
    const attributes = `Path=${pathFor(request)}; HttpOnly${isSecure(request) ? '; Secure' : ''}`;
    reply.header('set-cookie', `${nameFor(request)}=${value};${age} ${attributes}; SameSite=Lax`);
  };
  return {
    name,
    read(request) {
      const [value, ...others] = valuesOf(request, nameFor(request));
      return others.length === 0 ? value : undefined;
    },
    all: (request) => [...new Set(valuesOf(request, nameFor(request)))],
    isSent: (request) => valuesOf(request, nameFor(request)).length > 0,
    set,
    clear: (request, reply) => set(request, reply, '', 0),
  };
}

function valuesOf({ headers }: FastifyRequest, name: string): string[] {
  return (headers.cookie ?? '').split(';').flatMap((pair) => {
    const equals = pair.indexOf('=');
    return pair.slice(0, equals).trim() === name && equals !== -1 ? [pair.slice(equals + 1).trim()] : [];
  });
}
