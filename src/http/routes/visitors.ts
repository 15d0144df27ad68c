import type { FastifyRequest } from 'fastify';
import { describeForVisitor } from '../../links/descriptions.ts';
import { type LinkRequestAccess, visitorOf } from '../access/link-access.ts';
import { HttpError } from '../errors.ts';
import { sendFailure, unknownRoute } from '../failures.ts';
import type { App } from '../fastify-app.ts';
import { relativeTo } from '../headers.ts';
import { LinkPassword, VisitorLinkResponse } from '../link-schemas.ts';
import { prefersPage } from '../page/listing-page.ts';
import { Failure, Success } from '../schemas.ts';
import type { LinkService, Service } from '../service.ts';
import { sendListingFailure, withHtml } from './listing.ts';

const tags = ['Share links'];

/** Registers the routes that exist only below the URL of a share link. */
export function visitorRoutes(app: App, service: Service, { sessions }: LinkService): void {
  // Without scripts, browsers send the password as a form.
  app.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, body, done) =>
    done(null, Object.fromEntries(new URLSearchParams(String(body)))),
  );
  // Browsers show the response to the form.
  app.setErrorHandler((error, request, reply) =>
    request.method === 'POST' ? sendListingFailure(service, error, request, reply) : sendFailure(error, request, reply),
  );

  app.get(
    '/-/link',
    {
      config: { access: 'public', links: 'visitors', isOnlyForLinks: true },
      schema: {
        tags,
        summary: 'Get a share link as its visitor',
        description: 'Only below the URL of a share link: `/-/s/{token}/-/link`.',
        response: { 200: VisitorLinkResponse, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      return {
        success: true as const,
        link: describeForVisitor(requireVisitor(request).link, service.access.policy()),
      };
    },
  );

  app.post(
    '/-/link/session',
    {
      config: { access: 'public', links: 'locked', isOnlyForLinks: true },
      // The default validation error would contain the password.
      attachValidation: true,
      schema: {
        tags,
        summary: 'Enter the password of a share link',
        description:
          'Only below the URL of a share link: `/-/s/{token}/-/link/session`. Sets a cookie for the URLs of the link, which lasts at most a day. A 429 response has `Retry-After`.',
        body: LinkPassword,
        response: { 200: Success, '4xx': withHtml(Failure), '5xx': withHtml(Failure) },
      },
    },
    async (request, reply) => {
      if (request.validationError) {
        throw new HttpError('invalid-parameter', 'The body must be {"password": "…"}.');
      }
      const visitor = requireVisitor(request);
      const event = { event: 'sign-in', action: 'link password' } as const;
      try {
        await sessions.begin(request.body.password, visitor.link, request, reply);
      } catch (error) {
        if (error instanceof HttpError) visitor.record({ ...event, outcome: 'refused', reason: error.message });
        throw error;
      }
      visitor.record({ ...event, outcome: 'done' });
      reply.header('cache-control', 'no-store');
      const isForm = request.headers['content-type']?.startsWith(FORM) && prefersPage(request);
      if (isForm) return reply.redirect(relativeTo(request.url, '/'), 303);
      return { success: true as const, message: 'Password accepted.' };
    },
  );
}

const FORM = 'application/x-www-form-urlencoded';

function requireVisitor(request: FastifyRequest): LinkRequestAccess {
  const visitor = visitorOf(request);
  if (visitor) return visitor;
  throw unknownRoute(request);
}
