import type { AppToken, NewAppToken } from '../../platform/service/app-tokens.ts';
import { type ExpiryForm, expiryOf, isExpired } from '../expiry.ts';

/** What an app can do: view, also add files, or everything. */
export type TokenAccess = 'view' | 'add' | 'all';

export const TOKEN_ACCESS: readonly TokenAccess[] = ['all', 'add', 'view'];

/** The state of the form of an app token, as users type it. */
export interface TokenForm extends ExpiryForm {
  readonly name: string;
  /** The folder to which the token is limited; empty without a limit. */
  readonly folder: string;
  readonly access: TokenAccess;
}

export type TokenField = 'name' | 'date';

/** The maximum length of a name in characters. */
export const MAX_NAME_LENGTH = 200;

export const EMPTY_TOKEN: TokenForm = { name: '', folder: '', access: 'all', expiry: 'never', date: '' };

/** Returns the invalid fields. */
export function invalidFields(form: TokenForm, now: Date): ReadonlySet<TokenField> {
  return new Set<TokenField>([
    ...(cleanName(form.name) === '' ? ['name' as const] : []),
    ...(isExpired(form, now) ? ['date' as const] : []),
  ]);
}

const PERMISSIONS: Readonly<Record<TokenAccess, AppToken['permissions']>> = {
  view: ['read'],
  add: ['read', 'write'],
  all: ['read', 'write', 'manage'],
};

/** Returns the settings of a new token. The form must be valid. */
export function newTokenOf(form: TokenForm, now: Date): NewAppToken {
  const expiresAt = expiryOf(form, now)?.toISOString();
  return {
    name: cleanName(form.name),
    folder: form.folder || '/',
    permissions: PERMISSIONS[form.access],
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

/** Returns what a token allows; undefined for permissions that the form does not offer. */
export function accessOf({ permissions }: Pick<AppToken, 'permissions'>): TokenAccess | undefined {
  return TOKEN_ACCESS.find((access) => PERMISSIONS[access].join() === permissions.join());
}

/** Returns whether a token has expired. */
export function hasExpired({ expiresAt }: Pick<AppToken, 'expiresAt'>, now: Date): boolean {
  return expiresAt !== undefined && new Date(expiresAt) <= now;
}

const cleanName = (name: string) => name.replace(/\p{Cc}/gu, ' ').trim();
