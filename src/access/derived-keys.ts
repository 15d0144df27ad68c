import { hkdfSync } from 'node:crypto';

/**
 * Derives a 32-byte key for one purpose with HKDF (RFC 5869). It reveals neither `key` nor the keys for other
 * purposes.
 */
export function deriveKey(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `holdall ${purpose}`, 32));
}
