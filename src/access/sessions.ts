import { createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { EncryptJWT, type JWTPayload, jwtDecrypt } from 'jose';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../cache/lru-options.ts';
import type { Identity } from './identity.ts';
import type { Person, Policy } from './policy.ts';
import type { SessionRevocations } from './session-revocations.ts';

/** That somebody has signed in. */
export interface Session {
  readonly id: string;
  readonly who: Identity;
  /** How they signed in. */
  readonly by: 'password' | 'provider';
  readonly expires: Date;
}

/** The sessions of people. They are kept by the people themselves, each in a text that nobody else can make. */
export interface Sessions {
  /**
   * Begins one, and gives the text that proves it. `person` is the entry of the access file by which it began;
   * undefined where there is none of that name.
   */
  begin(
    who: Identity,
    by: Session['by'],
    person: Person | undefined,
  ): Promise<{ readonly session: Session; readonly proof: string }>;
  /**
   * The session that a text proves, whoever made it; undefined where it has ended by its time or by `end`, and while the
   * person's entry is another than the one by which it began: it came, it went, or its password is another. Throws
   * `unavailable` where that can't be known.
   */
  find(proof: string, policy: Policy): Promise<Session | undefined>;
  /**
   * Ends the session that a text proves everywhere, for good, and gives it; undefined where it has ended by its time or by
   * `end`. One that does not count because of the person's entry is ended too: the same entry may come back. Throws
   * `unavailable` where not all will know of it.
   */
  end(proof: string): Promise<Session | undefined>;
}

export interface SessionsOptions {
  readonly key: Buffer;
  /** Seconds that a session lasts. */
  readonly lifetime: number;
  readonly ended: SessionRevocations;
}

/** How many proofs are remembered as they were read: a page sends its own with each of hundreds of requests. */
const REMEMBERED = 10_000;

export function createSessions({ key, lifetime, ended }: SessionsOptions): Sessions {
  const seal = createSeal(key, 'session');
  const entryKey = deriveKey(key, 'entry of a session');
  const remembered = new LRUCache<string, Sealed>(maxEntries(REMEMBERED));

  /** Stands for what the access file says of a person, and tells nothing of it. */
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
      // The seal counts in whole seconds.
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
      // Where that can't be known, those who can be told of the end are told all the same.
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

/** What was sealed; undefined where that has another form, as another version of the service may give it. */
function sealedIn(claims: JWTPayload | undefined): Sealed | undefined {
  if (!claims) return undefined;
  const { sid, name, groups, by, entry, exp } = claims;
  if (typeof sid !== 'string' || typeof name !== 'string' || typeof entry !== 'string' || exp === undefined) return;
  if (by !== 'password' && by !== 'provider') return undefined;
  if (!Array.isArray(groups) || !groups.every((group): group is string => typeof group === 'string')) return undefined;
  return { session: { id: sid, who: { name, groups }, by, expires: new Date(exp * 1000) }, entry };
}

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
