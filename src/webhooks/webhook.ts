import { isIP } from 'node:net';
import type { Identity } from '../access/policy.ts';
import { CHANGE_TYPES, type ChangeType } from '../model/change.ts';
import { quoted, StoreError } from '../model/error.ts';
import type { FolderPath } from '../model/path.ts';
import type { AddressPolicy } from './address-policy.ts';

/**
 * Why a webhook is disabled: a user disabled it, its endpoint responded with 410, or its owner lost the permission to manage
 * the root.
 */
export type DisabledReason = 'user' | 'gone' | 'permission';

/**
 * The user who answers for a webhook: the user who created it or changed it last. It delivers what this user can read, and
 * only while they manage the root. Their password does not matter: it can change while the webhook remains.
 */
export interface Owner {
  /** Absent for an anonymous user. */
  readonly user?: Identity;
  /** Whether the access file has the user. It must then still have them. Others come from an identity provider. */
  readonly isListed: boolean;
  /** The hash of the token of the access file with which they did so. The webhook ends with that token. */
  readonly tokenHash?: string;
}

/** What a webhook delivers, and where. */
export interface WebhookSettings {
  readonly url: string;
  /** Only changes that affect this folder, or anything in it. */
  readonly folder: FolderPath;
  /** Only changes of these types. Undefined for all. */
  readonly types: readonly ChangeType[] | undefined;
  readonly description: string | undefined;
}

/** A webhook as it is stored. */
export interface Webhook extends WebhookSettings {
  readonly id: string;
  /** Undefined if the operator created it on the command line: it then delivers all changes of its folder. */
  readonly owner: Owner | undefined;
  readonly isEnabled: boolean;
  readonly disabledReason: DisabledReason | undefined;
  /** The secrets that sign messages at this moment: the current one, and for some time the one before. */
  readonly secrets: readonly string[];
  readonly createdAt: Date;
}

export type DeliveryStatus = 'pending' | 'delivered' | 'failed';

/** One message to a webhook: a request, and its retries. */
export interface Delivery {
  /** The ID of the message, which is the same in all attempts. */
  readonly id: string;
  /** The type of the message. */
  readonly type: string;
  readonly body: string;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  /** The time from which on it is retried. */
  readonly queuedAt: Date;
  readonly createdAt: Date;
  readonly nextAttemptAt: Date | undefined;
  readonly lastAttempt: Attempt | undefined;
}

/** How one attempt ended. */
export interface Attempt {
  readonly time: Date;
  readonly durationMs: number;
  /** The status and the beginning of the response; undefined if there was none. */
  readonly response: { readonly status: number; readonly excerpt: string } | undefined;
  /** Why the attempt failed, for users; undefined if the endpoint accepted the message. */
  readonly error: string | undefined;
}

/** Maximum length of a URL in characters, and of a description. */
export const MAX_URL_LENGTH = 2000;
export const MAX_DESCRIPTION_LENGTH = 500;

/**
 * Returns the URL of an endpoint in its canonical form. Throws `invalid-request` unless it is `https:`, or an allowed use of
 * `http:`. Host names are resolved, and their addresses checked, for each request.
 */
export function parseWebhookUrl(text: string, policy: AddressPolicy): string {
  const refuse = (problem: string) => new StoreError('invalid-request', `The webhook URL ${quoted(text)} ${problem}.`);
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol)) throw refuse('must begin with https://');
  if (url.href.length > MAX_URL_LENGTH) throw refuse(`is longer than ${MAX_URL_LENGTH} characters`);
  if (url.username || url.password) throw refuse('must not contain a username or a password');
  if (url.hash) throw refuse('must not contain a fragment');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const isAddress = isIP(host) !== 0;
  if (isAddress && !policy.isReachable(host)) {
    throw refuse('has a private or reserved address, which WEBHOOK_NETWORKS does not allow');
  }
  const allowsHttp = isAddress ? policy.isAllowedPrivate(host) : policy.allowsPrivate;
  if (url.protocol === 'http:' && !allowsHttp) {
    throw refuse('must begin with https://, because http:// is only for the networks in WEBHOOK_NETWORKS');
  }
  return url.href;
}

/** Returns the types without duplicates, in their usual order; undefined for none. Throws `invalid-request`. */
export function parseTypes(types: readonly string[] | undefined): readonly ChangeType[] | undefined {
  if (types === undefined || types.length === 0) return undefined;
  const unknown = types.find((type) => !CHANGE_TYPES.some((known) => known === type));
  if (unknown !== undefined) {
    const message = `The type of change ${quoted(unknown)} does not exist. Types: ${CHANGE_TYPES.join(', ')}.`;
    throw new StoreError('invalid-request', message);
  }
  return CHANGE_TYPES.filter((type) => types.includes(type));
}

/** Returns a description without outer spaces; undefined for an empty one. Throws `invalid-request`. */
export function parseDescription(text: string | undefined): string | undefined {
  const description = text?.trim();
  if (!description) return undefined;
  if (description.length <= MAX_DESCRIPTION_LENGTH && !/[\u0000-\u001f\u007f]/.test(description)) return description;
  const message = `The description ${quoted(description)} must be one line of at most ${MAX_DESCRIPTION_LENGTH} characters.`;
  throw new StoreError('invalid-request', message);
}

/** Returns a URL without its query, which can contain a secret, for logs. */
export function withoutQuery(url: string): string {
  return url.split('?')[0] ?? '';
}

/** Returns the error for an ID that no webhook has. */
export function webhookNotFound(id: string): StoreError {
  return new StoreError('not-found', `The webhook ${quoted(id)} does not exist.`);
}

/** Returns the error for an ID that no delivery of the webhook has. */
export function deliveryNotFound(id: string): StoreError {
  return new StoreError('not-found', `The delivery ${quoted(id)} does not exist, or was removed because of its age.`);
}
