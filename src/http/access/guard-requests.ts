import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { AccessDenied } from '../../access/permission-checks.ts';
import { appTokenRefused } from '../errors.ts';
import { unknownRoute } from '../failures.ts';
import type { App } from '../fastify-app.ts';
import { linkTokenOf } from '../request-url.ts';
import type { Service } from '../service.ts';
import type { Authenticators } from './authentication.ts';
import { isCorsOrigin } from './cors.ts';
import { admitVisitor } from './link-access.ts';
import { accessOf, UserRequestAccess } from './request-access.ts';
import { hostNameOf, rejectCrossSite, requireKnownHost } from './request-origin.ts';
import { ignoresCookies, isCookieSent } from './session-cookie.ts';

/**
 * Installs the access control of all routes: the host, the authentication and the permissions of every request. Every
 * route declares its access in `config`; otherwise the application does not start.
 */
export function guardRequests(app: App, service: Service): void {
  requireDeclarations(app);
  app.decorateRequest('access');
  const { access, publicUrl, contentOrigin, corsOrigins, links } = service;
  const sessionCookie = access.authenticators?.sessionCookie;
  const isLocal = access.mode === 'local';
  // File contents have their own host, separate from the web UI.
  const addresses = publicUrl === undefined ? [] : [publicUrl, ...(contentOrigin === undefined ? [] : [contentOrigin])];
  const knownHosts = addresses.map((address) => hostNameOf(new URL(address).host));

  const authenticate = async (authenticators: Authenticators, request: FastifyRequest, reply: FastifyReply) => {
    const authentication = await authenticators.authenticate(request, reply);
    if (!authentication) return;
    const userAccess = new UserRequestAccess(service, request, reply, authentication);
    request.access = userAccess;
    if (authentication.appToken) admitAppToken(userAccess, request, reply);
  };

  app.addHook('onRequest', (request, reply, done) => {
    const { access: routeAccess, isOnlyForLinks = false } = request.routeOptions.config;
    const token = linkTokenOf(request);
    request.access = new UserRequestAccess(service, request, reply, undefined);
    if (routeAccess !== 'health') requireKnownHost(request, { isLocal, knownHosts });
    const hasCredentials =
      token === undefined ? hasAmbientCredentials(request, sessionCookie) : links?.sessions.isSent(request);
    const isPrivate = routeAccess !== 'signature' && (isLocal || hasCredentials === true);
    // With `CORS_ORIGINS=*`, only explicit credentials count: not cookies, and not the network of the browser.
    const isTrusted = isCorsOrigin(corsOrigins, request) && !(corsOrigins === '*' && isPrivate);
    if (!isTrusted) rejectCrossSite(request, { publicUrl, isPrivate });
    if (token !== undefined) {
      if (request.routeOptions.config.links === 'anyone') return done();
      if (!links) throw unknownRoute(request);
      // The link is the only credential of the request.
      return void admitVisitor(service, links, { request, reply, token }).then(() => done(), done);
    }
    if (isOnlyForLinks) throw unknownRoute(request);
    // Users must be able to sign out even if they can't be authenticated.
    const needsUser = routeAccess !== 'health' && routeAccess !== 'signature' && routeAccess !== 'public';
    const admit = routeAccess === 'root' ? () => requireRootManagement(request) : () => undefined;
    if (access.authenticators && needsUser)
      authenticate(access.authenticators, request, reply)
        .then(admit)
        .then(() => done(), done);
    else done();
  });
  app.addHook('onRoute', (route) => {
    // The body can arrive late, after the user has lost the permission.
    if (route.config?.access === 'root') route.preHandler = [route.preHandler ?? [], requireRootManagement].flat();
  });
}

/**
 * Throws 403 if an app token can't use the route, because it could give permissions that remain without the token. Otherwise,
 * closes the connection if the token is revoked while the request is in progress.
 */
function admitAppToken(access: UserRequestAccess, request: FastifyRequest, reply: FastifyReply): void {
  const { access: routeAccess } = request.routeOptions.config;
  if (routeAccess === 'links' || routeAccess === 'app-tokens' || routeAccess === 'root') throw appTokenRefused();
  const watched = access.watchAppToken();
  watched?.signal.addEventListener('abort', () => void reply.raw.destroy(), { once: true });
  reply.raw.once('close', () => watched?.release());
}

/** Throws `AccessDenied` unless the user of the request may manage the root. What the routes show includes usernames. */
async function requireRootManagement(request: FastifyRequest): Promise<void> {
  const { files, isAnonymous } = accessOf(request);
  await files.requireRootManagement(request.method);
  if (isAnonymous) throw new AccessDenied('Sign in to use webhooks.', { isAnonymous: true });
}

function requireDeclarations(app: App): void {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => void routes.push(route as RouteOptions));
  app.addHook('onReady', async () => {
    const undeclared = routes.filter(({ config }) => config?.access === undefined);
    if (undeclared.length === 0) return;
    const names = undeclared.map(({ method, url }) => `${[method].flat().join(', ')} ${url}`);
    throw new Error(`These routes do not declare config.access: ${names.join('; ')}.`);
  });
}

/** Returns whether the request has credentials that browsers send automatically, even for requests from other sites. */
function hasAmbientCredentials(request: FastifyRequest, sessionCookie: string | undefined): boolean {
  const isSession = sessionCookie !== undefined && !ignoresCookies(request) && isCookieSent(request, sessionCookie);
  return isSession || /^basic\s/i.test(request.headers.authorization ?? '');
}
