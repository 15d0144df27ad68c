import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

/** Encrypts the cursors of listings, which contain paths, for clients that must not learn these. */
export interface SealedCursors {
  seal(cursor: string): string;
  /** Returns undefined for a cursor that `seal` did not return. */
  open(sealed: string): string | undefined;
}

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** Creates sealed cursors for one purpose. Those for another purpose are not valid. `key` has 32 bytes. */
export function sealCursors(key: Buffer, purpose: string): SealedCursors {
  return {
    seal(cursor) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv(CIPHER, key, iv).setAAD(Buffer.from(purpose));
      const encrypted = Buffer.concat([cipher.update(cursor), cipher.final()]);
      return Buffer.concat([iv, encrypted, cipher.getAuthTag()]).toString('base64url');
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64url');
      if (bytes.length < IV_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) return undefined;
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]).toString();
      } catch {
        // The tag does not match: only an invalid text can cause an error here.
        return undefined;
      }
    },
  };
}
