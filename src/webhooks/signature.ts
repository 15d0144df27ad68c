import { createHmac, randomBytes } from 'node:crypto';

/* Signatures and secrets of the Standard Webhooks specification: https://www.standardwebhooks.com. */

/** Bytes of a new secret. The specification requires 24 to 64. */
const SECRET_BYTES = 32;

const SECRET_PREFIX = 'whsec_';

/** A message to sign. */
export interface SignedMessage {
  readonly id: string;
  /** The time of the attempt. */
  readonly time: Date;
  readonly body: string;
}

/** Returns a new secret, as receivers configure it. */
export function createSecret(): string {
  return SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** Returns the headers that identify and sign a message, with one signature for each secret. */
export function signatureHeaders(
  { id, time, body }: SignedMessage,
  secrets: readonly string[],
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(time.getTime() / 1000));
  const sign = (secret: string) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
  };
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': secrets.map(sign).join(' ') };
}
