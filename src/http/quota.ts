import type { IncomingHttpHeaders } from 'node:http';
import type { Quota } from '../domain/store.ts';
import './access/request-access.ts';
import type { App, Service } from './service.ts';

/**
 * Adds the store's quota to responses for which the client prefers it (RFC 7240). With an access file, only signed-in users
 * get it.
 */
export function tellQuota(app: App, { files, access: { mode } }: Pick<Service, 'files' | 'access'>): void {
  app.addHook('onSend', ({ headers, access }, reply, _payload, done) => {
    const isTold = prefersQuota(headers) && (mode !== 'file' || access?.who !== undefined);
    const quota = isTold ? files.quota() : undefined;
    if (quota) reply.headers({ 'x-store-quota': quotaHeader(quota), 'preference-applied': 'quota' });
    done();
  });
}

/**
 * Whether one of the preferences is `quota` (RFC 7240, section 2). With an empty value it is the same; with another one,
 * or with parameters, it asks for what is not known here, and is ignored.
 */
export function prefersQuota({ prefer }: IncomingHttpHeaders): boolean {
  if (prefer === undefined) return false;
  const preferences = [prefer].flat().join(',').match(PREFERENCE) ?? [];
  // Of a preference that comes more than once, only the first counts.
  const first = preferences.find((preference) => /^[ \t]*quota[ \t]*(?:[=;]|$)/i.test(preference));
  return first !== undefined && /^[ \t]*quota[ \t]*(?:=[ \t]*""[ \t]*)?$/i.test(first);
}

/** What stands between two commas that are in no quoted string; one that is never closed goes on to the end. */
const PREFERENCE = /(?:"(?:[^"\\]|\\.?)*(?:"|$)|[^",])+/g;

/** The moment of the reset in seconds since 1970, as the headers of hosts have it. */
export function quotaHeader({ limit, remaining, reset }: Quota): string {
  return `limit=${limit}, remaining=${remaining}, reset=${Math.ceil(reset.getTime() / 1000)}`;
}
