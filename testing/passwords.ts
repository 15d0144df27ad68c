import { randomBytes, scryptSync } from 'node:crypto';

/** The lowest cost that an access file may have: 3 ms instead of 300 ms for each sign-in. */
const COST = { N: 2 ** 10, r: 8, p: 1 } as const;

/** Returns the salted hash of a password for the access file of a test. */
export function hashForTest(password: string): string {
  const salt = randomBytes(16);
  const key = scryptSync(password.normalize('NFC'), salt, 32, COST);
  const { N, r, p } = COST;
  return `scrypt:N=${N},r=${r},p=${p}:${salt.toString('base64url')}:${key.toString('base64url')}`;
}
