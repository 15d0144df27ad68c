import type { FastifyRequest } from 'fastify';
import { parseFolder, ROOT } from '../../model/path.ts';
import { readOnlyError } from '../../model/store-errors.ts';
import { describeDelivery, describeWebhook } from '../../webhooks/descriptions.ts';
import { sendTest } from '../../webhooks/messages.ts';
import { canSeeMessage, createOwner } from '../../webhooks/owner.ts';
import {
  type Delivery,
  parseDescription,
  parseTypes,
  parseWebhookUrl,
  type Webhook,
  withoutQuery,
} from '../../webhooks/webhook.ts';
import { requireNoEnd } from '../access/creations.ts';
import { accessOf } from '../access/request-access.ts';
import type { App } from '../fastify-app.ts';
import { Failure, Success } from '../schemas.ts';
import type { Service, WebhookService } from '../service.ts';
import {
  ChangeWebhook,
  CreateWebhook,
  DeliveryId,
  DeliveryList,
  DeliveryQuery,
  DeliveryResponse,
  SecretRotated,
  WebhookCreated,
  WebhookId,
  WebhookList,
  WebhookResponse,
} from '../webhook-schemas.ts';

/** Default number of deliveries in a page. */
const DEFAULT_LIMIT = 100;

const config = { access: 'root' } as const;
const failures = { '4xx': Failure, '5xx': Failure };
const tags = ['Webhooks'];

/** Registers the routes whose request bodies are ignored. */
export function webhookRoutes(app: App, service: Service, tables: WebhookService): void {
  listRoutes(app, tables);
  const requireWritable = createWriteCheck(service);
  actionRoutes(app, tables, requireWritable);
  deliveryRoutes(app, service, tables);
}

/** Registers the routes that return webhooks. */
function listRoutes(app: App, { webhooks }: WebhookService): void {
  app.get(
    '/-/webhooks',
    { config, schema: { tags, summary: 'List webhooks', response: { 200: WebhookList, ...failures } } },
    async (_request, reply) => {
      reply.header('cache-control', 'no-store');
      return { success: true as const, webhooks: (await webhooks.list()).map(describeWebhook) };
    },
  );

  app.get(
    '/-/webhooks/:id',
    {
      config,
      schema: { tags, summary: 'Get a webhook', params: WebhookId, response: { 200: WebhookResponse, ...failures } },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      return { success: true as const, webhook: describeWebhook(await webhooks.get(request.params.id)) };
    },
  );
}

/** Registers the routes that remove and test a webhook, and replace its secret. */
function actionRoutes(app: App, { webhooks, deliveries, sender }: WebhookService, requireWritable: () => void): void {
  app.delete(
    '/-/webhooks/:id',
    {
      config,
      schema: {
        tags,
        summary: 'Remove a webhook',
        description: 'Also removes its deliveries.',
        params: WebhookId,
        response: { 200: Success, ...failures },
      },
    },
    async (request) => {
      requireWritable();
      const webhook = await webhooks.get(request.params.id);
      await webhooks.remove(webhook.id);
      recordChange(request, 'remove webhook', webhook);
      return { success: true as const, message: 'Webhook removed successfully' };
    },
  );

  app.post(
    '/-/webhooks/:id/rotate-secret',
    {
      config,
      schema: {
        tags,
        summary: 'Replace the secret',
        description: 'Returns a new secret. For a day, messages also have a signature of the previous one.',
        params: WebhookId,
        response: { 200: SecretRotated, ...failures },
      },
    },
    async (request, reply) => {
      requireWritable();
      const webhook = await webhooks.get(request.params.id);
      const secret = await webhooks.rotateSecret(webhook.id);
      recordChange(request, 'rotate webhook secret', webhook);
      reply.header('cache-control', 'no-store');
      return { success: true as const, message: 'Secret replaced successfully', secret };
    },
  );

  app.post(
    '/-/webhooks/:id/test',
    {
      config,
      schema: {
        tags,
        summary: 'Test a webhook',
        description: 'Sends a message of the type `webhook.test` once, also if the webhook is disabled.',
        params: WebhookId,
        response: { 200: DeliveryResponse, ...failures },
      },
    },
    async (request, reply) => {
      requireWritable();
      const delivery = await sendTest(await webhooks.get(request.params.id), { sender, deliveries });
      reply.header('cache-control', 'no-store');
      return { success: true as const, delivery: describeDelivery(delivery) };
    },
  );
}

/** Registers the routes that return and repeat deliveries. */
function deliveryRoutes(app: App, service: Service, { webhooks, deliveries }: WebhookService): void {
  const requireWritable = createWriteCheck(service);
  const canSee = (request: FastifyRequest, delivery: Delivery) => {
    const policy = service.access.policy();
    return canSeeMessage(delivery, createOwner(accessOf(request).user, policy), policy);
  };
  app.get(
    '/-/webhooks/:id/deliveries',
    {
      config,
      schema: {
        tags,
        summary: 'List the deliveries of a webhook',
        params: WebhookId,
        querystring: DeliveryQuery,
        response: { 200: DeliveryList, ...failures },
      },
    },
    async (request, reply) => {
      const { limit = DEFAULT_LIMIT, cursor } = request.query;
      const { id } = await webhooks.get(request.params.id);
      const page = await deliveries.list(id, { limit, cursor });
      reply.header('cache-control', 'no-store');
      return {
        success: true as const,
        deliveries: page.deliveries.map((delivery) =>
          describeDelivery(delivery, { showsMessage: canSee(request, delivery) }),
        ),
        ...(page.cursor !== undefined && { cursor: page.cursor }),
      };
    },
  );

  app.post(
    '/-/webhooks/:id/deliveries/:delivery/redeliver',
    {
      config,
      schema: {
        tags,
        summary: 'Repeat a delivery',
        description: 'Sends the same message again, with retries. The webhook must be enabled.',
        params: DeliveryId,
        response: { 200: DeliveryResponse, ...failures },
      },
    },
    async (request, reply) => {
      requireWritable();
      const webhook = await webhooks.getEnabled(request.params.id);
      const delivery = await deliveries.repeat(webhook.id, request.params.delivery);
      recordChange(request, 'repeat webhook delivery', webhook);
      reply.header('cache-control', 'no-store');
      return {
        success: true as const,
        delivery: describeDelivery(delivery, { showsMessage: canSee(request, delivery) }),
      };
    },
  );
}

/** Registers the routes that create and change webhooks, with JSON bodies. */
export function changeWebhookRoutes(app: App, service: Service, { webhooks, addresses }: WebhookService): void {
  const requireWritable = createWriteCheck(service);
  const ownerOf = (request: FastifyRequest) => {
    requireNoEnd(request, 'webhooks');
    const { user, credential } = accessOf(request);
    return createOwner(user, service.access.policy(), credential);
  };

  app.post(
    '/-/webhooks',
    {
      config,
      schema: {
        tags,
        summary: 'Add a webhook',
        description: 'Holdall then sends each future change to the URL, as a signed message.',
        body: CreateWebhook,
        response: { 200: WebhookCreated, ...failures },
      },
    },
    async (request, reply) => {
      requireWritable();
      const { url, folder, types, description } = request.body;
      const settings = {
        url: parseWebhookUrl(url, addresses),
        folder: folder === undefined ? ROOT : parseFolder(folder),
        types: parseTypes(types ?? undefined),
        description: parseDescription(description ?? undefined),
      };
      const { webhook, secret } = await webhooks.create(settings, ownerOf(request));
      recordChange(request, 'add webhook', webhook);
      reply.header('cache-control', 'no-store');
      return { success: true as const, webhook: describeWebhook(webhook), secret };
    },
  );

  app.patch(
    '/-/webhooks/:id',
    {
      config,
      schema: {
        tags,
        summary: 'Change a webhook',
        description: 'Changes the given fields. The user then is the owner of the webhook.',
        params: WebhookId,
        body: ChangeWebhook,
        response: { 200: WebhookResponse, ...failures },
      },
    },
    async (request, reply) => {
      requireWritable();
      const { url, folder, types, description, enabled } = request.body;
      const present = await webhooks.get(request.params.id);
      const { id } = present;
      const settings = {
        url: url === undefined ? present.url : parseWebhookUrl(url, addresses),
        folder: folder === undefined ? present.folder : parseFolder(folder),
        types: types === undefined ? present.types : parseTypes(types ?? undefined),
        description: description === undefined ? present.description : parseDescription(description ?? undefined),
      };
      await webhooks.change(id, settings, ownerOf(request));
      if (enabled === true) await webhooks.enable(id);
      if (enabled === false) await webhooks.disable(id, 'user');
      const webhook = await webhooks.get(id);
      recordChange(request, 'change webhook', webhook);
      reply.header('cache-control', 'no-store');
      return { success: true as const, webhook: describeWebhook(webhook) };
    },
  );
}

/** Returns a function that throws if the service is read-only. Deliveries continue. */
function createWriteCheck({ readOnly }: Service): () => void {
  return () => {
    if (readOnly) throw readOnlyError();
  };
}

/** Records a change of a webhook, with its folder, and its URL as the destination. */
function recordChange(request: FastifyRequest, action: string, { folder, url }: Webhook): void {
  const destination = withoutQuery(url);
  accessOf(request).record({ event: 'change', action, path: folder, destination, outcome: 'done' });
}
