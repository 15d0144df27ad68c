import type { ChangeLink, CreateLink, Link, LinkCreated, LinkList } from '../../../../src/http/schemas.ts';
import type { Service } from './service.ts';

/*
 * Share links in the HTTP API. Every function throws `ServiceError`, or the `AbortError` of its signal.
 */

/** A share link to a file or folder. */
export type { Link } from '../../../../src/http/schemas.ts';
export type LinkPermission = Link['permissions'][number];
/** The settings of a new link, and those that a change replaces. */
export type NewLink = Omit<CreateLink, 'path'>;
export type LinkChanges = ChangeLink;
/** A new link with its URL, which the service never returns again. */
export type CreatedLink = Pick<LinkCreated, 'link' | 'url'>;

/** The maximum number of links in a page. */
export const MAX_LINKS_PER_PAGE = 1_000;

type Sender = Pick<Service, 'send'>;

interface LinkOptions {
  /** Only links to this file or folder, also those of other users if the user manages it. */
  readonly path?: string;
  /** Only links to this folder and to anything in it, also those of other users to what the user manages. */
  readonly below?: string;
  readonly limit?: number;
  readonly cursor?: string | undefined;
  readonly signal?: AbortSignal;
  readonly isBackground?: boolean;
}

/** Returns a page of links, the newest first. */
export function listLinks(
  service: Sender,
  { path, below, limit, cursor, ...options }: LinkOptions,
): Promise<Pick<LinkList, 'links' | 'cursor'>> {
  const query = {
    ...(path !== undefined && { path: pathParameter(path) }),
    ...(below !== undefined && { below: pathParameter(below) }),
    ...(limit !== undefined && { limit: String(limit) }),
    ...(cursor !== undefined && { cursor }),
  };
  return service.send('-/links', { query, ...options });
}

export function createLink(service: Sender, path: string, settings: NewLink): Promise<CreatedLink> {
  return service.send('-/links', { method: 'POST', body: { path: pathParameter(path), ...settings } });
}

export async function changeLink(service: Sender, id: string, changes: LinkChanges): Promise<Link> {
  const { link } = await service.send<{ link: Link }>(`-/links/${id}`, { method: 'PATCH', body: changes });
  return link;
}

/** Revokes a link: its URL stops working immediately. */
export async function revokeLink(service: Sender, id: string): Promise<void> {
  await service.send(`-/links/${id}`, { method: 'DELETE' });
}

/** In the HTTP API, the path of the root is "/". */
const pathParameter = (path: string) => path || '/';
