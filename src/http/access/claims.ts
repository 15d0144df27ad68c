import type { JWTPayload } from 'jose';
import { isName } from '../../access/names.ts';

/**
 * The name of a person in the claims of a provider: a text of 1 to 200 characters without control characters. An
 * `email` counts only where the provider says that it is verified: who could enter any would be anybody.
 */
export function nameIn(claims: JWTPayload, claim: string): string | undefined {
  if (claim === 'email' && claims['email_verified'] !== true) return undefined;
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  return isName(value) ? value : undefined;
}

/** The groups in the claims: those of a list, or the one that stands alone. What can't be a name of one is left out. */
export function groupsIn(claims: JWTPayload, claim: string): string[] {
  const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
  return [...new Set([value].flat().filter(isName))];
}
