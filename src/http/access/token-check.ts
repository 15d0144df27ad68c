import type { Credential } from '../../access/creator.ts';
import { hashToken } from '../../access/credentials.ts';
import type { Identity, Policy } from '../../access/policy.ts';
import { type AppToken, inactiveReasonOf } from '../../app-tokens/app-token.ts';
import type { AppTokenLookup } from '../../app-tokens/app-token-lookup.ts';
import { quoted } from '../../model/error.ts';
import { HttpError } from '../errors.ts';

/** A valid token and its user. */
export interface CheckedToken extends Credential {
  readonly user: Identity;
  readonly authMethod: 'token' | 'app-token';
  readonly appToken?: AppToken;
}

/** A token of the access file, or an app token. No password has this form. */
const TOKEN_FORM = /^holdall_(?:app_)?[\w-]{43}$/;

/** Returns whether a text has exactly the form of a token, instead of that of a password. */
export function isTokenForm(text: string): boolean {
  return TOKEN_FORM.test(text);
}

/** Checks tokens of the access file, and app tokens. */
export class TokenCheck {
  readonly #policy: () => Policy;
  readonly #appTokens: AppTokenLookup | undefined;

  constructor(policy: () => Policy, appTokens: AppTokenLookup | undefined) {
    this.#policy = policy;
    this.#appTokens = appTokens;
  }

  /**
   * Returns the user of a token. Throws 401 if it is invalid or expired, or if its user has another name than `username`.
   * An empty or undefined `username` fits every user. Throws `database-unavailable` if an app token can't be checked.
   */
  async check(token: string, username = ''): Promise<CheckedToken> {
    const checked = this.#checkAccessFile(token) ?? (await this.#checkAppTokens(token));
    if (!checked) throw new HttpError('invalid-token', 'Invalid or revoked token.');
    if (username !== '' && username !== checked.user.name) {
      const message = `The token belongs to another user than ${quoted(username)}. Send the name of its user, or no username.`;
      throw new HttpError('invalid-token', message);
    }
    if (checked.appToken) this.#appTokens?.recordUse(checked.appToken);
    return checked;
  }

  #checkAccessFile(token: string): CheckedToken | undefined {
    const found = this.#policy().tokenOf(hashToken(token));
    if (!found) return undefined;
    const { expires, hash } = found.token;
    if (expires && expires.getTime() <= Date.now()) throw tokenExpired(expires);
    return { user: { name: found.user.name, groups: [] }, authMethod: 'token', tokenHash: hash, expiresAt: expires };
  }

  async #checkAppTokens(secret: string): Promise<CheckedToken | undefined> {
    const token = await this.#appTokens?.find(secret);
    const reason = token && inactiveReasonOf(token, this.#policy());
    if (!token || reason === 'owner') return undefined;
    if (reason === 'expired') throw tokenExpired(token.expiresAt);
    const { name, groups } = token.owner;
    return { user: { name, groups }, authMethod: 'app-token', appToken: token };
  }
}

function tokenExpired(time: Date | undefined): HttpError {
  return new HttpError('token-expired', `The token expired on ${time?.toISOString()}.`);
}
