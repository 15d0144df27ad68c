import type { VisitorLink } from '../../../src/http/schemas.ts';
import type { Listing } from './service/service.ts';
import { type ServiceError, serviceErrorOf } from './service/service-error.ts';

/** The data that the service embeds in the document. The embedded listing saves the first request. */
export interface Embedded {
  /** The root of the service, relative to the URL of the document. */
  readonly base: string;
  readonly folder: string;
  readonly response: Listing | ServiceError;
  /** Whether the service rejects all changes. */
  readonly readOnly: boolean;
  /** Maximum size of an upload in bytes; null if only the store has a limit. */
  readonly maxUploadSize: number | null;
  /** Bytes above which a file is uploaded in parts of this size; null if that is not possible. */
  readonly uploadPartBytes: number | null;
  /** The trash; null if deletes are permanent. `days` is null if nothing removes its items, such as in a branch. */
  readonly trash: { readonly days: number | null } | null;
  /** Whether the earlier contents of replaced files are kept as versions. */
  readonly keepsVersions: boolean;
  /** The kinds of files that have thumbnails in addition to images. */
  readonly stills: readonly ('video' | 'pdf' | 'heic')[];
  /** Whether users can share files and folders by links. */
  readonly links: boolean;
  /**
   * WebDAV: whether the service serves it, and the configured public root of the service, with a trailing `/`. Null if there are no
   * locks, and for visitors.
   */
  readonly dav: { readonly isServed: boolean; readonly root: string | null } | null;
  /** The user, and the authentication methods; null without access control. `name` is null for an anonymous user. */
  readonly access: {
    readonly name: string | null;
    readonly signIn: { readonly password: boolean; readonly provider: boolean };
  } | null;
  /** The cursor of the change feed from before the listing was read; undefined without a listing or a change log. */
  readonly cursor?: string;
  /** The share link of a visitor; undefined for users. Null while its properties are hidden, for example before the password. */
  readonly link?: VisitorLink | null;
}

/** Reads the embedded data. It needs no validation, because the service and this code have the same version. */
export function readEmbedded(): Embedded {
  const text = document.querySelector('#embedded')?.textContent ?? '';
  const { status, response, ...rest } = JSON.parse(text) as Omit<Embedded, 'response'> & {
    readonly status: number;
    readonly response: Listing | { readonly success: false };
  };
  return { ...rest, response: response.success ? response : serviceErrorOf(status, response, null) };
}

const VERSION_TIMEOUT_MS = 10_000;

/**
 * Returns whether the service now has another version of the page. After an update, the old version's lazily loaded
 * scripts are gone, because their names contain content hashes.
 */
export async function isPageReplaced(): Promise<boolean> {
  const script = document.querySelector<HTMLScriptElement>('script[type="module"][src]');
  if (!script) return false;
  try {
    const signal = AbortSignal.timeout(VERSION_TIMEOUT_MS);
    const { status } = await fetch(script.src, { method: 'HEAD', cache: 'no-store', signal });
    return status === 404;
  } catch {
    return false;
  }
}
