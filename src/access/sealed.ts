import { hkdfSync } from 'node:crypto';
import { EncryptJWT, type JWTPayload, jwtDecrypt } from 'jose';

/** Texts that only a service with the same key can read or make. */
export interface Seal {
  /** `claims` as such a text, which is good until `expires`. */
  close(claims: JWTPayload, expires: Date): Promise<string>;
  /** The claims of a text; undefined where it has expired, was altered, or was not made with this key for this purpose. */
  open(text: string): Promise<JWTPayload | undefined>;
}

/** A seal for one purpose: what is made for another one is not opened. */
export function createSeal(key: Buffer, purpose: string): Seal {
  const own = deriveKey(key, purpose);
  return {
    close: (claims, expires) =>
      new EncryptJWT(claims).setProtectedHeader(HEADER).setIssuedAt().setExpirationTime(expires).encrypt(own),
    async open(text) {
      if (!isCanonical(text)) return undefined;
      try {
        const { payload } = await jwtDecrypt(text, own, {
          keyManagementAlgorithms: [HEADER.alg],
          contentEncryptionAlgorithms: [HEADER.enc],
          requiredClaims: ['exp'],
        });
        return payload;
      } catch {
        // Nothing but the text can make it fail.
        return undefined;
      }
    },
  };
}

/** A key of 32 bytes for one purpose, from which neither `key` nor those of other purposes can be found: RFC 5869. */
export function deriveKey(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `holdall ${purpose}`, 32));
}

const HEADER = { alg: 'dir', enc: 'A256GCM' } as const;

/** The form of the texts: a header, no wrapped key, and then the vector, the content and its tag (RFC 7516, section 7.1). */
const SEALED = /^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/;

/** Whether the text is the only one of its bytes: the last character of a part may have bits that mean nothing. */
function isCanonical(text: string): boolean {
  return (
    SEALED.test(text) && text.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
  );
}
