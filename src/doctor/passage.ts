import { escapePath } from '../stores/s3/keys.ts';
import type { AddressSubject } from './address.ts';
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
  'Have the proxy pass paths on as they are: in nginx proxy_pass with nothing behind the port, not even a "/"; and no rewrite that decodes them.';
