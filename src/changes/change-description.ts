import type { LoggedChange } from '../model/change.ts';

/** A change as clients get it, in JSON. */
export type ChangeDescription = Omit<LoggedChange, 'time'> & { readonly time: string };

export function describeChange({ etag, time, ...change }: LoggedChange): ChangeDescription {
  return { ...change, time: time.toISOString(), ...(etag !== undefined && { etag: `"${etag}"` }) };
}
