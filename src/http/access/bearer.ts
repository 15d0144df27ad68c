import type { Identity, Way } from '../../access/identity.ts';
import type { Policy } from '../../access/policy.ts';
import { hashToken, isToken } from '../../access/tokens.ts';
import { HttpError } from '../errors.ts';
import type { JwtCheck } from './jwt.ts';

/**
 * Whom the token of `Authorization: Bearer` (RFC 6750) stands for: one of the access file, or where `checkJwt` is given
 * one of an issuer.
 */
export async function readBearer(
  token: string,
  { policy, checkJwt }: { readonly policy: Policy; readonly checkJwt: JwtCheck | undefined },
): Promise<{ readonly who: Identity; readonly way: Way }> {
  if (!isToken(token) && checkJwt) return { who: await checkJwt(token), way: 'jwt' };
  const found = policy.tokenOf(hashToken(token));
  if (!found) throw new HttpError(401, 'The token is not known: it is another one, or it was taken back.');
  const { expires } = found.token;
  if (expires && expires.getTime() <= Date.now()) {
    throw new HttpError(401, `The token has expired: it was good until ${expires.toISOString()}.`);
  }
  return { who: { name: found.person.name, groups: [] }, way: 'token' };
}
