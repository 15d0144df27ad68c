import { type Static, Type } from 'typebox';
import { CHANGE_TYPES, type ChangeType } from '../model/change.ts';
import { cursor, nextCursor, pageLimit, success } from './schema-fields.ts';

/* The JSON shapes of webhooks in the HTTP API. */

const changeType = Type.Unsafe<ChangeType>({ type: 'string', enum: [...CHANGE_TYPES] });

const settings = {
  url: Type.String({
    description: 'The URL of the endpoint: `https:`, or `http:` for a network in `WEBHOOK_NETWORKS`.',
  }),
  folder: Type.String({ description: 'Only changes that affect this folder, at any depth. Empty for the root.' }),
  types: Type.Union([Type.Array(changeType, { minItems: 1 }), Type.Null()], {
    description: 'Only changes of these types. Null for all.',
  }),
  description: Type.Union([Type.String(), Type.Null()], { description: 'A note for users: one line.' }),
};

const secret = Type.String({ description: 'The secret that verifies signatures. It is never returned again.' });

const WebhookDescription = Type.Object(
  {
    id: Type.String(),
    ...settings,
    enabled: Type.Boolean(),
    disabledReason: Type.Optional(
      Type.Union([Type.Literal('user'), Type.Literal('gone'), Type.Literal('permission')], {
        description:
          '`user`: a user disabled it. `gone`: the endpoint responded with 410. `permission`: its owner no longer manages the root.',
      }),
    ),
    owner: Type.Union([Type.String(), Type.Null()], {
      description:
        'The username of the user whose permissions apply. Null for an anonymous user, and for the command line.',
    }),
    createdAt: Type.String({ format: 'date-time' }),
  },
  { title: 'Webhook' },
);
export type WebhookDescription = Static<typeof WebhookDescription>;

const DeliveryDescription = Type.Object(
  {
    id: Type.String({ description: 'The ID of the message: the header `webhook-id` of each attempt.' }),
    type: Type.String({ description: 'The type of the change, or `webhook.test`.' }),
    status: Type.Union([Type.Literal('pending'), Type.Literal('delivered'), Type.Literal('failed')]),
    attempts: Type.Integer({ description: 'The number of requests since the delivery was created or repeated.' }),
    createdAt: Type.String({ format: 'date-time' }),
    nextAttemptAt: Type.Optional(Type.String({ format: 'date-time', description: 'Present while it is pending.' })),
    lastAttempt: Type.Optional(
      Type.Object({
        time: Type.String({ format: 'date-time' }),
        durationMs: Type.Integer(),
        error: Type.Optional(
          Type.String({ description: 'Why it failed. Absent if the endpoint accepted the message.' }),
        ),
        responseStatus: Type.Optional(Type.Integer({ description: 'Absent if there was no response.' })),
        response: Type.Optional(Type.String({ description: 'The beginning of the body of the response.' })),
      }),
    ),
    message: Type.Optional(
      Type.Unknown({
        description: 'The message: the body of the requests. Absent if the user has no permission to read its files.',
      }),
    ),
  },
  { title: 'WebhookDelivery' },
);
export type DeliveryDescription = Static<typeof DeliveryDescription>;

export const WebhookId = Type.Object({ id: Type.String({ description: 'The ID of the webhook.' }) });

export const DeliveryId = Type.Object({
  id: Type.String({ description: 'The ID of the webhook.' }),
  delivery: Type.String({ description: 'The ID of the delivery.' }),
});

export const CreateWebhook = Type.Object(
  {
    url: settings.url,
    folder: Type.Optional(settings.folder),
    types: Type.Optional(settings.types),
    description: Type.Optional(settings.description),
  },
  { title: 'CreateWebhookRequest', additionalProperties: false },
);

export const ChangeWebhook = Type.Object(
  {
    url: Type.Optional(settings.url),
    folder: Type.Optional(settings.folder),
    types: Type.Optional(settings.types),
    description: Type.Optional(settings.description),
    enabled: Type.Optional(
      Type.Boolean({
        description:
          '`false` stops all deliveries; pending ones fail. `true` starts with future changes: those in between are not delivered.',
      }),
    ),
  },
  { title: 'ChangeWebhookRequest', additionalProperties: false },
);

export const WebhookResponse = Type.Object({ success, webhook: WebhookDescription }, { title: 'WebhookResponse' });

export const WebhookCreated = Type.Object(
  { success, webhook: WebhookDescription, secret },
  { title: 'WebhookCreated' },
);

export const WebhookList = Type.Object(
  { success, webhooks: Type.Array(WebhookDescription, { description: 'The oldest first.' }) },
  { title: 'WebhookList' },
);

export const SecretRotated = Type.Object({ success, message: Type.String(), secret }, { title: 'SecretRotated' });

export const DeliveryResponse = Type.Object({ success, delivery: DeliveryDescription }, { title: 'DeliveryResponse' });

export const DeliveryQuery = Type.Object({
  limit: pageLimit('Maximum number of deliveries.', 100),
  cursor,
});

export const DeliveryList = Type.Object(
  {
    success,
    deliveries: Type.Array(DeliveryDescription, { description: 'The newest first.' }),
    cursor: nextCursor,
  },
  { title: 'DeliveryList' },
);
