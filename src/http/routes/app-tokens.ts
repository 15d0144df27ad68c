import type { FastifyRequest } from 'fastify';
import { createCreator } from '../../access/creator.ts';
import { AccessDenied } from '../../access/permission-checks.ts';
import { type Identity, PERMISSIONS } from '../../access/policy.ts';
import { type AppToken, appTokenNotFound, parseName, sortPermissions } from '../../app-tokens/app-token.ts';
import { describeAppToken } from '../../app-tokens/descriptions.ts';
import { parseExpiry } from '../../model/expiry.ts';
import { parseFolder } from '../../model/path.ts';
import { endOf } from '../access/creations.ts';
import { accessOf } from '../access/request-access.ts';
import { AppTokenCreated, AppTokenId, AppTokenList, CreateAppToken } from '../app-token-schemas.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { Failure, Success } from '../schemas.ts';
import type { AppTokenService, Service } from '../service.ts';

const config = { access: 'app-tokens' } as const;
const failures = { '4xx': Failure, '5xx': Failure };
const tags = ['App tokens'];

/** Registers the routes whose request bodies are ignored. */
export function appTokenRoutes(app: App, { table }: AppTokenService): void {
  app.get(
    '/-/app-tokens',
    {
      config,
      schema: {
        tags,
        summary: 'List app tokens',
        description: "Returns the user's own ones, also those that have expired. Anonymous users have none.",
        response: { 200: AppTokenList, ...failures },
      },
    },
    async (request, reply) => {
      const { user } = accessOf(request);
      const tokens = user ? await table.list(user.name) : [];
      reply.header('cache-control', 'no-store');
      return { success: true as const, tokens: tokens.map(describeAppToken) };
    },
  );

  app.delete(
    '/-/app-tokens/:id',
    {
      config,
      schema: {
        tags,
        summary: 'Revoke an app token',
        description: 'Ends it within two seconds, with its requests and jobs in progress.',
        params: AppTokenId,
        response: { 200: Success, ...failures },
      },
    },
    async (request) => {
      const { id } = request.params;
      const { user } = accessOf(request);
      if (!user) throw appTokenNotFound(id);
      recordChange(request, 'revoke app token', await table.revoke(id, user.name));
      return { success: true as const, message: 'App token revoked successfully' };
    },
  );
}

/** Registers the route that creates app tokens, with a JSON body. */
export function createAppTokenRoute(app: App, service: Service, { table }: AppTokenService): void {
  app.post(
    '/-/app-tokens',
    {
      config,
      schema: {
        tags,
        summary: 'Create an app token',
        description:
          'Creates a token for one app, as `Authorization: Bearer`, or as the password of Basic. It gives at most what its user can do at that moment, in its folder. It gives no access to share links, webhooks, app tokens and sessions.',
        body: CreateAppToken,
        response: { 200: AppTokenCreated, ...failures },
      },
    },
    async (request, reply) => {
      const user = requireUser(request, service);
      const { name, folder = '', permissions = PERMISSIONS, expiresAt } = request.body;
      const settings = {
        name: parseName(name),
        folder: parseFolder(folder),
        permissions: sortPermissions(permissions),
        expiresAt: endOf(request, typeof expiresAt === 'string' ? parseExpiry(expiresAt) : expiresAt),
      };
      // The body can arrive late, after the session of the user has ended.
      await accessOf(request).confirm();
      const { token, secret } = await table.create(
        settings,
        createCreator(user, service.access.policy(), accessOf(request).credential),
      );
      recordChange(request, 'create app token', token);
      reply.header('cache-control', 'no-store');
      return {
        success: true as const,
        message: 'App token created successfully',
        token: describeAppToken(token),
        secret,
      };
    },
  );
}

/** Returns the user of a request. Throws for anonymous users, who have no app tokens. */
function requireUser(request: FastifyRequest, { access }: Pick<Service, 'access'>): Identity {
  const { user } = accessOf(request);
  if (user) return user;
  if (!access.authenticators) {
    throw new HttpError('sign-in-disabled', 'There are no app tokens, because ACCESS_FILE is not set.');
  }
  throw new AccessDenied('Sign in to manage app tokens.', { isAnonymous: true });
}

/** Records a change of an app token. */
function recordChange(request: FastifyRequest, action: string, { id, folder }: Pick<AppToken, 'id' | 'folder'>): void {
  accessOf(request).record({ event: 'change', action, path: folder, appToken: id, outcome: 'done' });
}
