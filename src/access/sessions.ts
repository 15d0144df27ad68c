import { createHash, createHmac, randomBytes } from 'node:crypto';
import { EncryptJWT, type JWTPayload, jwtDecrypt } from 'jose';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../cache/lru-options.ts';
import { deriveKey } from './derived-keys.ts';
import type { Identity, Policy, UserEntry } from './policy.ts';
import type { SessionRevocations } from './session-revocations.ts';

/** The session of a user who has signed in. */
export interface Session {
  readonly id: string;
  readonly user: Identity;
  /** How the user signed in. */
  readonly signInMethod: 'password' | 'provider';
  readonly expires: Date;
}

/** The sessions of users. A client stores its session as a sealed session token that only the service can create. */
export interface Sessions {
  /**
   * Creates a session. `userEntry` is the user's entry in the access file; undefined for a user of the identity provider
   * who has none.
   */
  create(
    user: Identity,
    signInMethod: Session['signInMethod'],
    userEntry: UserEntry | undefined,
  ): Promise<{ readonly session: Session; readonly sessionToken: string }>;
  /**
   * Returns the session of a token, also if another process created it. Returns undefined if it is expired or
   * revoked. Also returns undefined while the user's entry in the access file differs from the entry at sign-in: it
   * was added, removed, or its password changed. Throws `unavailable` if that can't be determined.
   */
  find(sessionToken: string, policy: Policy): Promise<Session | undefined>;
  /**
   * Revokes and returns the session of a token; undefined if it is expired or revoked. Also revokes a session that is
   * invalid because of the user's entry, because the entry can be restored. Throws `unavailable` if the revocation
   * can't be stored everywhere.
   */
  revoke(sessionToken: string): Promise<Session | undefined>;
}

export interface SessionsOptions {
  readonly key: Buffer;
  /** Lifetime of a session in seconds. */
  readonly lifetime: number;
  readonly revocations: SessionRevocations;
}

/** Maximum number of cached parsed session tokens. A browser sends its token with each of hundreds of requests. */
const MAX_CACHED_TOKENS = 10_000;

export function createSessions({ key, lifetime, revocations }: SessionsOptions): Sessions {
  const seal = createSeal(key, 'session');
  const entryKey = deriveKey(key, 'entry of a session');
  const opened = new LRUCache<string, SealedSession>(maxEntries(MAX_CACHED_TOKENS));

  const open = async (sessionToken: string): Promise<SealedSession | undefined> => {
    const digest = createHash('sha256').update(sessionToken).digest('base64url');
    const cached = opened.get(digest);
    if (cached) return cached;
    const sealed = parseClaims(await seal.open(sessionToken));
    if (sealed) opened.set(digest, sealed);
    return sealed;
  };
  const openUnexpired = async (sessionToken: string): Promise<SealedSession | undefined> => {
    const sealed = await open(sessionToken);
    return sealed && sealed.session.expires.getTime() > Date.now() ? sealed : undefined;
  };

  return {
    async create(user, signInMethod, userEntry) {
      // JWT expiry times are whole seconds.
      const expires = new Date((Math.floor(Date.now() / 1000) + lifetime) * 1000);
      const session = { id: randomBytes(24).toString('base64url'), user, signInMethod, expires };
      const entry = hashEntry(entryKey, user.name, userEntry);
      const claims = { sid: session.id, ...user, by: signInMethod, entry };
      return { session, sessionToken: await seal.close(claims, expires) };
    },

    async find(sessionToken, policy) {
      const sealed = await openUnexpired(sessionToken);
      if (!sealed) return undefined;
      const { session, entry } = sealed;
      const { name } = session.user;
      if (entry !== hashEntry(entryKey, name, policy.userEntry(name))) return undefined;
      return (await revocations.has(session.id)) ? undefined : session;
    },

    async revoke(sessionToken) {
      const session = (await openUnexpired(sessionToken))?.session;
      // If the check fails, the session is revoked anyway, wherever that can be stored.
      if (!session || (await revocations.has(session.id).catch(() => false))) return undefined;
      await revocations.add(session.id, session.expires);
      return session;
    },
  };
}

/** Returns a keyed hash of a user's entry in the access file, which reveals nothing about it. */
function hashEntry(key: Buffer, name: string, userEntry: UserEntry | undefined): string {
  const password = userEntry === undefined ? 'absent' : (userEntry.password ?? 'without password');
  return createHmac('sha256', key)
    .update(JSON.stringify([name, password]))
    .digest('base64url');
}

interface SealedSession {
  readonly session: Session;
  /** The hash of the user's entry at sign-in. */
  readonly entry: string;
}

/** Returns the content of a session token; undefined if it has another form, as from another version of the service. */
function parseClaims(claims: JWTPayload | undefined): SealedSession | undefined {
  if (!claims) return undefined;
  const { sid, name, groups, by, entry, exp } = claims;
  if (typeof sid !== 'string' || typeof name !== 'string' || typeof entry !== 'string' || exp === undefined) return;
  if (by !== 'password' && by !== 'provider') return undefined;
  if (!Array.isArray(groups) || !groups.every((group): group is string => typeof group === 'string')) return undefined;
  const expires = new Date(exp * 1000);
  return { session: { id: sid, user: { name, groups }, signInMethod: by, expires }, entry };
}

/** Encrypts and authenticates claims, so that only a service with the same key can read or create them. */
export interface Seal {
  /** Returns `claims` as a sealed text that is valid until `expires`. */
  close(claims: JWTPayload, expires: Date): Promise<string>;
  /**
   * Returns the claims of a sealed text; undefined if it is expired, altered, or sealed with another key or for
   * another purpose.
   */
  open(text: string): Promise<JWTPayload | undefined>;
}

/** Creates a seal for one purpose. It does not open texts that were sealed for another purpose. */
export function createSeal(key: Buffer, purpose: string): Seal {
  const purposeKey = deriveKey(key, purpose);
  return {
    close: (claims, expires) =>
      new EncryptJWT(claims)
        .setProtectedHeader(JWE_HEADER)
        .setIssuedAt()
        .setExpirationTime(expires)
        .encrypt(purposeKey),
    async open(text) {
      if (!isCanonical(text)) return undefined;
      try {
        const { payload } = await jwtDecrypt(text, purposeKey, {
          keyManagementAlgorithms: [JWE_HEADER.alg],
          contentEncryptionAlgorithms: [JWE_HEADER.enc],
          requiredClaims: ['exp'],
        });
        return payload;
      } catch {
        // Only an invalid text can cause an error here.
        return undefined;
      }
    },
  };
}

const JWE_HEADER = { alg: 'dir', enc: 'A256GCM' } as const;

/**
 * Matches a sealed text: header, empty encrypted key, initialization vector, ciphertext and tag (RFC 7516, section
 * 7.1).
 */
const COMPACT_JWE = /^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Returns whether the text is the canonical encoding of its bytes. The last character of a base64url part can have
 * unused bits.
 */
function isCanonical(text: string): boolean {
  return (
    COMPACT_JWE.test(text) &&
    text.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
  );
}
