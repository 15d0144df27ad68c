import { createHash, type Hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { quoted } from '../model/error.ts';
import { HttpError } from './errors.ts';

/** The digest algorithms of RFC 9530 that are secure, with their names in Node.js and their sizes in bytes. */
const ALGORITHMS = {
  'sha-256': { name: 'sha256', bytes: 32 },
  'sha-512': { name: 'sha512', bytes: 64 },
} as const;

type Algorithm = keyof typeof ALGORITHMS;

/** A digest that a client sent. */
interface Digest {
  readonly header: string;
  readonly algorithm: Algorithm;
  readonly value: Buffer;
}

/** Compares the content of a request with the digests in its headers. */
export class DigestCheck {
  readonly #digests: readonly (Digest & { readonly hash: Hash })[];

  constructor(digests: readonly Digest[]) {
    this.#digests = digests.map((digest) => ({ ...digest, hash: createHash(ALGORITHMS[digest.algorithm].name) }));
  }

  /** Adds the next bytes of the content. */
  readonly update = (bytes: Buffer | string): void => {
    for (const { hash } of this.#digests) hash.update(bytes);
  };

  /** Throws `digest-mismatch` if the content that was added has another digest. */
  readonly verify = async (): Promise<void> => {
    for (const { header, algorithm, value, hash } of this.#digests) {
      const actual = hash.digest();
      if (timingSafeEqual(actual, value)) continue;
      throw new HttpError(
        'digest-mismatch',
        `The ${algorithm} of the content is ${actual.toString('base64')}, and not that in ${header}. Nothing was stored. Send the file again.`,
      );
    }
  };
}

/**
 * Returns a check of the digests in `Content-Digest` and `Repr-Digest` (RFC 9530), which are the same for a request that
 * contains a whole file without a content coding. Returns undefined without a digest of a known algorithm: a client can
 * send others as well. Throws `invalid-header` for a value that is not a digest.
 */
export function digestCheckOf(headers: IncomingHttpHeaders): DigestCheck | undefined {
  const digests = ['Content-Digest', 'Repr-Digest'].flatMap((header) =>
    parseDigests(header, headers[header.toLowerCase()]?.toString()),
  );
  return digests.length === 0 ? undefined : new DigestCheck(digests);
}

/** Parses a dictionary of byte sequences (RFC 9651, sections 3.2 and 3.3.5), such as `sha-256=:…:, sha-512=:…:`. */
function parseDigests(header: string, text: string | undefined): Digest[] {
  if (text === undefined) return [];
  return text.split(',').flatMap((member) => {
    const { key, base64 } =
      /^\s*(?<key>[a-z*][a-z0-9_.*-]*)=:(?<base64>[A-Za-z0-9+/]*={0,2}):\s*$/.exec(member)?.groups ?? {};
    const algorithm = key === undefined ? undefined : algorithmOf(key);
    const value = Buffer.from(base64 ?? '', 'base64');
    if (key === undefined || (algorithm && value.length !== ALGORITHMS[algorithm].bytes)) {
      throw new HttpError(
        'invalid-header',
        `The header ${header} has the invalid member ${quoted(member.trim())}. Send "sha-256=:", the digest in Base64, and ":".`,
      );
    }
    return algorithm ? [{ header, algorithm, value }] : [];
  });
}

function algorithmOf(key: string): Algorithm | undefined {
  return Object.hasOwn(ALGORITHMS, key) ? (key as Algorithm) : undefined;
}
