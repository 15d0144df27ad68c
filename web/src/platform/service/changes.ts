import type { ChangeList } from '../../../../src/http/schemas.ts';
import { nameOf } from '../paths.ts';
import { errorOfResponse, fetchWithIdleTimeout, linesOf } from './request.ts';
import type { Entry, Listing, SendOptions, Service } from './service.ts';
import { asServiceError, serviceErrorOf } from './service-error.ts';
import type { Urls } from './urls.ts';

/*
 * The change feed in the HTTP API. Every function throws `ServiceError`, or the `AbortError` of its signal.
 */

/** A change of a file or folder, by any client. */
export type FeedChange = ChangeList['changes'][number];

/** A part of the stream. */
export interface FeedEvent {
  readonly change?: FeedChange | undefined;
  /** The file or folder whose locks have changed. */
  readonly locked?: string | undefined;
  /** The cursor of all later changes. */
  readonly cursor?: string | undefined;
}

export interface FeedOptions {
  /** The stream has the changes in this folder, at any depth, and of the folders that contain it. */
  readonly folder: string;
  /** Where the stream starts. Default: at the present moment. */
  readonly cursor: string | undefined;
  /** Whether the stream also announces changes of locks. */
  readonly hasLocks: boolean;
  readonly signal: AbortSignal;
}

/** Opens the stream of changes. */
export type OpenFeed = (options: Omit<FeedOptions, 'hasLocks'>) => AsyncIterable<FeedEvent>;

/** Milliseconds without an event after which the connection counts as lost. The service sends one every 15 seconds. */
const IDLE_TIMEOUT_MS = 40_000;

/**
 * Yields the changes as they happen, until the connection closes. The first event has a cursor. Throws the error with which
 * the service ends the stream, such as when the session expires. Unlike `EventSource`, reports the status of a failure.
 */
export async function* openFeed(urls: Urls, options: FeedOptions): AsyncGenerator<FeedEvent> {
  const { folder, cursor, hasLocks, signal } = options;
  const query = { folder, ...(cursor !== undefined && { since: cursor }), ...(hasLocks && { locks: 'true' }) };
  const url = urls.endpoint('-/changes', query);
  const request = { headers: { accept: 'text/event-stream' }, signal };
  const response = await fetchWithIdleTimeout(url, request, IDLE_TIMEOUT_MS).catch((error: unknown) => {
    throw asServiceError(error);
  });
  if (!response.ok || !response.body) throw await errorOfResponse(response);
  yield* eventsOf(linesOf(response.body));
}

/** Parses server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). */
async function* eventsOf(lines: AsyncIterable<string>): AsyncGenerator<FeedEvent> {
  let fields: Record<string, string> = {};
  for await (const line of lines) {
    if (line !== '') {
      const colon = line.indexOf(': ');
      if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
      continue;
    }
    const { data, event, id } = fields;
    fields = {};
    if (event === 'closed') throw serviceErrorOf(0, JSON.parse(data ?? '{}'), null);
    if (event === 'locks') yield { locked: JSON.parse(data ?? '{}').path };
    else if (data !== undefined || id !== undefined) {
      yield { change: data === undefined ? undefined : (JSON.parse(data) as FeedChange), cursor: id };
    }
  }
}

/** Maximum names in one request, and their maximum total length, so that no proxy rejects the URL. */
const MAX_NAMES = 100;
const MAX_NAMES_LENGTH = 4000;

/** Returns the names of the entries in groups, each for one `readEntries`. */
export function groupNames(paths: readonly string[]): readonly (readonly string[])[] {
  const groups: string[][] = [];
  let length = 0;
  for (const path of paths) {
    const name = nameOf(path) + (path.endsWith('/') ? '/' : '');
    const size = encodeURIComponent(name).length;
    const last = groups.at(-1);
    if (last && last.length < MAX_NAMES && length + size <= MAX_NAMES_LENGTH) last.push(name);
    else {
      groups.push([name]);
      length = 0;
    }
    length += size;
  }
  return groups;
}

/** Returns the existing ones of the entries with these names in a folder. The name of a folder ends with a `/`. */
export async function readEntries(
  service: Pick<Service, 'send'>,
  folder: string,
  names: readonly string[],
  options?: Pick<SendOptions, 'isBackground'>,
): Promise<readonly Entry[]> {
  const query = new URLSearchParams([['prefix', folder], ...names.map((name) => ['name', name])]);
  return (await service.send<Listing>('', { query, ...options })).entries;
}
