import { describeChange } from '../changes/change-description.ts';
import type { LoggedChange } from '../model/change.ts';
import { createId, type Deliveries, type Message } from './deliveries.ts';
import type { Sender } from './sender.ts';
import type { Delivery, Webhook } from './webhook.ts';

/** The type of the message with which a user tests a webhook. */
const TEST_TYPE = 'webhook.test';

/** Returns the message of a change. */
export function changeMessage(change: LoggedChange): Message {
  const data = describeChange(change);
  return { type: change.type, body: JSON.stringify({ type: change.type, timestamp: data.time, data }) };
}

/** Sends a test message once, without retries, and returns how that ended. */
export async function sendTest(
  webhook: Webhook,
  { sender, deliveries }: { readonly sender: Sender; readonly deliveries: Deliveries },
): Promise<Delivery> {
  const id = createId();
  const timestamp = new Date().toISOString();
  const body = JSON.stringify({ type: TEST_TYPE, timestamp, data: { webhook: webhook.id } });
  const attempt = await sender.send(webhook, { id, body });
  return deliveries.addSent(webhook.id, { type: TEST_TYPE, body }, { id, attempt });
}
