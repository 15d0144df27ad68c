import { escapePath } from '../stores/s3/keys.ts';
import type { AddressSubject } from './address.ts';
import type { Answer } from './asking.ts';
import type { StoreSubject } from './store.ts';

/** The service at its address, and the store with the probe: for how files pass what is before the service. */
export type PassageSubject = AddressSubject & StoreSubject;

/** The path of a file of the probe behind a route. */
export function pathOf(route: string, { probe }: PassageSubject, name: string): string {
  return `${route}${escapePath(probe + name)}`;
}

export const ADVICE_ON_TOKEN =
  'Look at the token in HOLDALL_TOKEN, and at its entry in ACCESS_FILE: whether it has expired, and whether its person may read, write and manage in "/" (npx holdall access explain NAME upload /).';

export const PATHS =
  'Have the proxy pass paths on as they are: in nginx proxy_pass with nothing behind the port, not even a "/"; in Apache AllowEncodedSlashes NoDecode and ProxyPass with nocanon; and no rewrite that decodes them.';

/** What to do where a request is refused that should not be. */
export function adviceOnRefusal({ status, envelope }: Answer): string {
  if (status === 401 || status === 403) return envelope === undefined ? 'Let the proxy pass it on.' : ADVICE_ON_TOKEN;
  return 'Look for the answer in the log of the proxy and, by its X-Request-Id, in that of the service.';
}
