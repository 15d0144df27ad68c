import { hash, randomBytes } from 'node:crypto';

/** A new token, and the hash by which the access file knows it: the token itself is kept nowhere. */
export function createToken(): { readonly token: string; readonly hash: string } {
  const token = `${PREFIX}${randomBytes(32).toString('base64url')}`;
  return { token, hash: hashToken(token) };
}

/**
 * The hash of a token: `sha256:` and 43 characters of base64url. It is neither salted nor slow, as the hash of a
 * password has to be: nobody guesses 256 random bits, however fast.
 */
export function hashToken(token: string): string {
  return `sha256:${hash('sha256', token, 'base64url')}`;
}

/** Whether a text looks like a token of ours, and not like one of another issuer. */
export function isToken(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** By which people, and programs that look for leaked secrets, know what it is. */
const PREFIX = 'holdall_';
