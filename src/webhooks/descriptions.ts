import type { Delivery, Webhook } from './webhook.ts';

/** Returns a webhook as users see it, in the HTTP API and on the command line. It never contains the secret. */
export function describeWebhook({ id, url, folder, types, description, owner, ...webhook }: Webhook) {
  return {
    id,
    url,
    folder,
    types: types ? [...types] : null,
    description: description ?? null,
    enabled: webhook.isEnabled,
    ...(webhook.disabledReason && { disabledReason: webhook.disabledReason }),
    owner: owner?.user?.name ?? null,
    createdAt: webhook.createdAt.toISOString(),
  };
}

/** Returns a delivery as users see it, with its message unless the user may not see that. */
export function describeDelivery(
  { id, type, status, attempts, createdAt, nextAttemptAt, lastAttempt, body }: Delivery,
  { showsMessage = true } = {},
) {
  return {
    id,
    type,
    status,
    attempts,
    createdAt: createdAt.toISOString(),
    ...(nextAttemptAt && { nextAttemptAt: nextAttemptAt.toISOString() }),
    ...(lastAttempt && {
      lastAttempt: {
        time: lastAttempt.time.toISOString(),
        durationMs: lastAttempt.durationMs,
        ...(lastAttempt.error !== undefined && { error: lastAttempt.error }),
        ...(lastAttempt.response && {
          responseStatus: lastAttempt.response.status,
          response: lastAttempt.response.excerpt,
        }),
      },
    }),
    ...(showsMessage && { message: JSON.parse(body) as unknown }),
  };
}
