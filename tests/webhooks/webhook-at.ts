import { ROOT } from '../../src/model/path.ts';
import { createSecret } from '../../src/webhooks/signature.ts';
import type { Webhook } from '../../src/webhooks/webhook.ts';

/** Returns a webhook with a URL that was not checked, and a new secret. */
export function webhookAt(url: string): Webhook {
  return {
    id: '1',
    url,
    folder: ROOT,
    types: undefined,
    description: undefined,
    owner: undefined,
    isEnabled: true,
    disabledReason: undefined,
    secrets: [createSecret()],
    createdAt: new Date(),
  };
}
