import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { EncryptJWT, type JWTPayload, jwtDecrypt } from 'jose';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../cache/lru-options.ts';
import type { Identity } from './identity.ts';
import type { Person, Policy } from './policy.ts';
import type { SessionRevocations } from './session-revocations.ts';

/** The session of a user who has signed in. */
export interface Session {
  readonly id: string;
  readonly who: Identity;
  /** How the user signed in. */
  readonly by: 'password' | 'provider';
  readonly expires: Date;
}

/** The sessions of users. Clients store them as sealed texts (proofs) that only the service can create. */
export interface Sessions {
  /**
   * Starts a session and returns its proof. `person` is the user's entry in the access file; undefined if there is
   * none.
   */
  begin(
    who: Identity,
    by: Session['by'],
    person: Person | undefined,
  ): Promise<{ readonly session: Session; readonly proof: string }>;
  /**
   * Returns the session of a proof, also if another process started it. Returns undefined if it is expired or
   * revoked. Also returns undefined while the user's entry in the access file differs from the entry at sign-in: it
   * was added, removed, or its password changed. Throws `unavailable` if that can't be determined.
   */
  find(proof: string, policy: Policy): Promise<Session | undefined>;
  /**
   * Revokes and returns the session of a proof; undefined if it is expired or revoked. Also revokes a session that is
   * invalid because of the user's entry, because the entry can be restored. Throws `unavailable` if the revocation
   * can't be stored everywhere.
   */
  end(proof: string): Promise<Session | undefined>;
}

export interface SessionsOptions {
  readonly key: Buffer;
  /** Lifetime of a session in seconds. */
  readonly lifetime: number;
  readonly ended: SessionRevocations;
}

/** Maximum number of cached parsed proofs. A browser sends its proof with each of hundreds of requests. */
const REMEMBERED = 10_000;

export function createSessions({ key, lifetime, ended }: SessionsOptions): Sessions {
  const seal = createSeal(key, 'session');
  const entryKey = deriveKey(key, 'entry of a session');
  const remembered = new LRUCache<string, Sealed>(maxEntries(REMEMBERED));

  /** Returns a keyed hash of the user's entry in the access file, which reveals nothing about it. */
  const entryOf = (name: string, person: Person | undefined): string =>
    createHmac('sha256', entryKey)
      .update(JSON.stringify([name, person === undefined ? 'absent' : (person.password ?? 'without password')]))
      .digest('base64url');

  const open = async (proof: string): Promise<Sealed | undefined> => {
    const digest = createHash('sha256').update(proof).digest('base64url');
    const known = remembered.get(digest);
    if (known) return known;
    const opened = sealedIn(await seal.open(proof));
    if (opened) remembered.set(digest, opened);
    return opened;
  };
  const openLasting = async (proof: string): Promise<Sealed | undefined> => {
    const opened = await open(proof);
    return opened && opened.session.expires.getTime() > Date.now() ? opened : undefined;
  };

  return {
    async begin(who, by, person) {
      // JWT expiry times are whole seconds.
      const expires = new Date((Math.floor(Date.now() / 1000) + lifetime) * 1000);
      const session = { id: randomBytes(24).toString('base64url'), who, by, expires };
      const claims = { sid: session.id, ...who, by, entry: entryOf(who.name, person) };
      return { session, proof: await seal.close(claims, expires) };
    },

    async find(proof, policy) {
      const opened = await openLasting(proof);
      if (!opened) return undefined;
      const { session, entry } = opened;
      if (entry !== entryOf(session.who.name, policy.person(session.who.name))) return undefined;
      return (await ended.has(session.id)) ? undefined : session;
    },

    async end(proof) {
      const session = (await openLasting(proof))?.session;
      // If the check fails, the session is revoked anyway, wherever that can be stored.
      if (!session || (await ended.has(session.id).catch(() => false))) return undefined;
      await ended.add(session.id, session.expires);
      return session;
    },
  };
}

interface Sealed {
  readonly session: Session;
  readonly entry: string;
}

/** Returns the content of a proof; undefined if it has another form, as from another version of the service. */
function sealedIn(claims: JWTPayload | undefined): Sealed | undefined {
  if (!claims) return undefined;
  const { sid, name, groups, by, entry, exp } = claims;
  if (typeof sid !== 'string' || typeof name !== 'string' || typeof entry !== 'string' || exp === undefined) return;
  if (by !== 'password' && by !== 'provider') return undefined;
  if (!Array.isArray(groups) || !groups.every((group): group is string => typeof group === 'string')) return undefined;
  return { session: { id: sid, who: { name, groups }, by, expires: new Date(exp * 1000) }, entry };
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
        // Only an invalid text can cause an error here.
        return undefined;
      }
    },
  };
}

/**
 * Derives a 32-byte key for one purpose with HKDF (RFC 5869). It reveals neither `key` nor the keys for other
 * purposes.
 */
export function deriveKey(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `holdall ${purpose}`, 32));
}

const HEADER = { alg: 'dir', enc: 'A256GCM' } as const;

/**
 * Matches a sealed text: header, empty encrypted key, initialization vector, ciphertext and tag (RFC 7516, section
 * 7.1).
 */
const SEALED = /^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/;

/**
 * Returns whether the text is the canonical encoding of its bytes. The last character of a base64url part can have
 * unused bits.
 */
function isCanonical(text: string): boolean {
  return (
    SEALED.test(text) && text.split('.').every((part) => Buffer.from(part, 'base64url').toString('base64url') === part)
  );
}
