import type { IncomingHttpHeaders } from 'node:http';
import type { Quota } from '../model/store.ts';
import './access/request-access.ts';
import type { App } from './fastify-app.ts';
import type { Service } from './service.ts';

/**
 * Adds the store's quota to responses if the client prefers it (RFC 7240). With an access file, only signed-in users
 * receive it.
 */
export function addQuotaHeader(app: App, { files, access: { mode } }: Pick<Service, 'files' | 'access'>): void {
  app.addHook('onSend', ({ headers, access }, reply, _payload, done) => {
    const isTold = prefersQuota(headers) && (mode !== 'file' || access?.user !== undefined);
    const quota = isTold ? files.quota() : undefined;
    if (quota) reply.headers({ 'x-store-quota': quotaHeader(quota), 'preference-applied': 'quota' });
    done();
  });
}

/**
 * Returns whether a preference is `quota` (RFC 7240, section 2). An empty value is equivalent to none. A `quota` with
 * another value or with parameters is unknown and therefore ignored.
 */
export function prefersQuota({ prefer }: IncomingHttpHeaders): boolean {
  if (prefer === undefined) return false;
  const preferences = [prefer].flat().join(',').match(PREFERENCE) ?? [];
  // If a preference is repeated, only the first one counts.
  const first = preferences.find((preference) => /^[ \t]*quota[ \t]*(?:[=;]|$)/i.test(preference));
  return first !== undefined && /^[ \t]*quota[ \t]*(?:=[ \t]*""[ \t]*)?$/i.test(first);
}

/**
 * Matches one element of a comma-separated list; commas in quoted strings don't separate. An unclosed string extends to
 * the end.
 */
const PREFERENCE = /(?:"(?:[^"\\]|\\.?)*(?:"|$)|[^",])+/g;

/** Returns the quota header. `reset` is in seconds since 1970, as in the headers of hosting APIs. */
export function quotaHeader({ limit, remaining, reset }: Quota): string {
  return `limit=${limit}, remaining=${remaining}, reset=${Math.ceil(reset.getTime() / 1000)}`;
}
