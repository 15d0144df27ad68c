import type { IncomingHttpHeaders } from 'node:http';
import type { Quota } from '../domain/store.ts';
import type { App, Service } from './service.ts';

/** What an answer says of the store's quota, for a request that prefers to know (RFC 7240): as it is then. */
export function tellQuota(app: App, { files }: Pick<Service, 'files'>): void {
  app.addHook('onSend', async ({ headers }, reply) => {
    const quota = prefersQuota(headers) ? files.quota() : undefined;
    if (quota) reply.headers({ 'x-store-quota': quotaHeader(quota), 'preference-applied': 'quota' });
  });
}

/** Whether one of the preferences is `quota`. A name with a value is another preference (RFC 7240, section 2). */
export function prefersQuota({ prefer }: IncomingHttpHeaders): boolean {
  return [prefer ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .some((preference) => /^[ \t]*quota[ \t]*$/i.test(preference));
}

/** The moment of the reset in seconds since 1970, as the headers of hosts have it. */
export function quotaHeader({ limit, remaining, reset }: Quota): string {
  return `limit=${limit}, remaining=${remaining}, reset=${Math.ceil(reset.getTime() / 1000)}`;
}
