import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { JWTPayload } from 'jose';
import { LRUCache } from 'lru-cache';
import { maxEntries } from '../domain/max-entries.ts';
import type { EndedSessions } from './ended-sessions.ts';
import type { Identity } from './identity.ts';
import type { Person, Policy } from './policy.ts';
import { createSeal, deriveKey } from './sealed.ts';

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
  readonly ended: EndedSessions;
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
