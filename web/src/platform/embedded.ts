import type { Listing } from './service/service.ts';
import { type ServiceError, serviceErrorOf } from './service/service-error.ts';

/** What the service wrote into the page: where it is, and the first listing, which saves a request. */
export interface Embedded {
  /** The root of the service, relative to the page's URL. */
  readonly base: string;
  readonly folder: string;
  readonly answer: Listing | ServiceError;
  /** Whether the service takes no changes. */
  readonly readOnly: boolean;
  /** Bytes; null where the service has no limit of its own. */
  readonly maxUploadSize: number | null;
  /** Who is signed in, and how that is done here; null where there is nobody to be. */
  readonly access: {
    readonly name: string | null;
    readonly signIn: { readonly password: boolean; readonly provider: boolean };
  } | null;
}

/** Reads it; the service and this page are of one version, so that its shape is known. */
export function readEmbedded(): Embedded {
  const text = document.querySelector('#embedded')?.textContent ?? '';
  const { status, answer, ...rest } = JSON.parse(text) as Omit<Embedded, 'answer'> & {
    readonly status: number;
    readonly answer: Listing | { readonly success: false };
  };
  return { ...rest, answer: answer.success ? answer : serviceErrorOf(status, answer, null) };
}
