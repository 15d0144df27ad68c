import { createHmac, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { deriveKey } from '../../access/derived-keys.ts';
import type { Link } from '../../links/link.ts';
import { HttpError } from '../errors.ts';
import { LINK_PREFIX, linkTokenOf } from '../request-url.ts';
import { attemptPassword, requirePossible, type SignInThrottle, TooManyAttempts } from './password-check.ts';
import { type Cookie, type CookieScope, createCookie } from './session-cookie.ts';

/** Milliseconds that a session lasts at most. */
const LIFETIME_MS = 24 * 60 * 60_000;

export interface LinkSessionsOptions extends CookieScope {
  /** Limits the attempts, together with those to sign in. */
  readonly throttle: SignInThrottle;
}

/**
 * The sessions of visitors who have entered the password of a link. The cookie is valid only for the URLs of the link,
 * and ends with the password.
 */
export class LinkSessions {
  readonly #key: Buffer;
  readonly #throttle: SignInThrottle;
  readonly #cookie: Cookie;

  constructor({ throttle, ...scope }: LinkSessionsOptions) {
    this.#key = deriveKey(scope.key, 'link session');
    this.#throttle = throttle;
    this.#cookie = createCookie('holdall-link', scope, {
      pathOf: (request) => `${LINK_PREFIX}${linkTokenOf(request) ?? ''}`,
    });
  }

  /** Returns whether browsers sent the cookie, valid or not. */
  isSent(request: FastifyRequest): boolean {
    return this.#cookie.isSent(request);
  }

  /** Returns whether the visitor may use the link: it has no password, or they have entered it. */
  isOpen(request: FastifyRequest, link: Link): boolean {
    if (link.passwordHash === undefined) return true;
    return this.#cookie.all(request).some((value) => this.#isValid(value, link));
  }

  /**
   * Begins a session. Throws 401 for a wrong password, and 429 with `Retry-After` after too many attempts from the
   * client's network.
   */
  async begin(password: string, link: Link, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    requirePossible(password);
    const attempt = { name: `${LINK_PREFIX}${link.id}`, address: request.ip };
    const isCorrect = await attemptPassword(this.#throttle, attempt, password, link.passwordHash).catch(
      (error: unknown) => {
        if (error instanceof TooManyAttempts) reply.header('retry-after', error.retryAfter);
        throw error;
      },
    );
    if (!isCorrect) throw new HttpError('wrong-link-password', 'Wrong password.');
    this.#cookie.set(request, reply, this.#valueOf(link, Date.now() + LIFETIME_MS));
  }

  #isValid(value: string, link: Link): boolean {
    const expires = Number(/^\d{1,15}/.exec(value)?.[0]);
    if (!(expires > Date.now())) return false;
    const received = Buffer.from(value);
    const expected = Buffer.from(this.#valueOf(link, expires));
    return received.length === expected.length && timingSafeEqual(received, expected);
  }

  #valueOf({ id, passwordHash }: Link, expires: number): string {
    const mac = createHmac('sha256', this.#key).update(JSON.stringify([id, passwordHash, expires]));
    return `${expires}.${mac.digest('base64url')}`;
  }
}
