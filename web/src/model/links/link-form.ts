import type { Link, LinkChanges, LinkPermission, NewLink } from '../../platform/service/links.ts';
import { dateOf, type ExpiryForm, expiryOf, isExpired } from '../expiry.ts';

/** What visitors of a link can do: view and download, only upload, or both. */
export type LinkAccess = 'view' | 'upload' | 'both';

export const LINK_ACCESS: readonly LinkAccess[] = ['view', 'upload', 'both'];

/** The state of the form of a link, as users type it. */
export interface LinkForm extends ExpiryForm {
  readonly access: LinkAccess;
  readonly label: string;
  readonly hasPassword: boolean;
  /** Empty if an existing link keeps its password. */
  readonly password: string;
  readonly maxDownloads: string;
  readonly maxUploads: string;
  /** The maximum size of a file, in MB. */
  readonly maxSize: string;
  readonly asksSender: boolean;
}

/** The fields that can be invalid. */
export type LinkField = 'date' | 'password' | 'maxDownloads' | 'maxUploads' | 'maxSize';
export type LinkFieldProblem = 'past' | 'missing' | 'count' | 'size';
export type LinkProblems = Partial<Readonly<Record<LinkField, LinkFieldProblem>>>;

/** The maximum length of a label in characters. */
export const MAX_LABEL_LENGTH = 200;

const BYTES_PER_MB = 1_000_000;

/** Returns the form of a new link. */
export function emptyForm(access: LinkAccess): LinkForm {
  return {
    access,
    label: '',
    expiry: 'never',
    date: '',
    hasPassword: false,
    password: '',
    maxDownloads: '',
    maxUploads: '',
    maxSize: '',
    asksSender: false,
  };
}

/** Returns the form of an existing link. */
export function formOf(link: Link): LinkForm {
  return {
    access: accessOf(link.permissions),
    label: link.label ?? '',
    expiry: link.expiresAt === undefined ? 'never' : 'date',
    date: link.expiresAt === undefined ? '' : dateOf(new Date(link.expiresAt)),
    hasPassword: link.hasPassword,
    password: '',
    maxDownloads: link.maxDownloads?.toString() ?? '',
    maxUploads: link.maxUploads?.toString() ?? '',
    maxSize: link.maxUploadBytes === undefined ? '' : megabytesOf(link.maxUploadBytes),
    asksSender: link.askSender,
  };
}

export function accessOf(permissions: readonly LinkPermission[]): LinkAccess {
  if (!permissions.includes('write')) return 'view';
  return permissions.includes('read') ? 'both' : 'upload';
}

const PERMISSIONS: Readonly<Record<LinkAccess, LinkPermission[]>> = {
  view: ['read'],
  upload: ['write'],
  both: ['read', 'write'],
};

/** Returns whether visitors can download. Otherwise the link has no limits of downloads. */
export const canDownload = ({ access }: Pick<LinkForm, 'access'>): boolean => access !== 'upload';
/** Returns whether visitors can upload. Otherwise the link has no limits of uploads. */
export const canUpload = ({ access }: Pick<LinkForm, 'access'>): boolean => access !== 'view';

/** Returns the invalid fields. `before` is the form of an existing link, which can keep its password and its past expiry. */
export function problemsOf(form: LinkForm, now: Date, before?: LinkForm): LinkProblems {
  const { expiry, date, hasPassword, password, maxDownloads, maxUploads, maxSize } = form;
  const isPast = expiry === 'date' && date !== before?.date && isExpired({ expiry, date }, now);
  const keepsPassword = before?.hasPassword === true;
  return {
    ...(isPast && { date: 'past' }),
    ...(hasPassword && password === '' && !keepsPassword && { password: 'missing' }),
    ...(canDownload(form) && isInvalid(maxDownloads, parseCount) && { maxDownloads: 'count' }),
    ...(canUpload(form) && isInvalid(maxUploads, parseCount) && { maxUploads: 'count' }),
    ...(canUpload(form) && isInvalid(maxSize, parseMegabytes) && { maxSize: 'size' }),
  };
}

/** Returns the settings of a new link. The form must be valid. */
export function newLinkOf(form: LinkForm, now: Date): NewLink {
  const { permissions, askSender, ...optional } = settingsOf(form, now);
  const given = Object.entries({ ...optional, password: form.hasPassword ? form.password : null }).filter(
    ([, value]) => value !== null,
  );
  return { permissions, ...(askSender && { askSender }), ...Object.fromEntries(given) };
}

/** Returns the settings that differ between two valid forms of one link. */
export function linkChangesOf(form: LinkForm, before: LinkForm, now: Date): LinkChanges {
  const previous: Readonly<Record<string, unknown>> = settingsOf(before, now);
  const changed = Object.entries(settingsOf(form, now)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(previous[name]),
  );
  const hasNewPassword = form.hasPassword && form.password !== '';
  return {
    ...Object.fromEntries(changed),
    ...(hasNewPassword && { password: form.password }),
    ...(before.hasPassword && !form.hasPassword && { password: null }),
  };
}

/** Returns the settings of a form, except the password. Null means the default. */
function settingsOf(form: LinkForm, now: Date) {
  const [downloads, uploads] = [canDownload(form), canUpload(form)];
  return {
    permissions: PERMISSIONS[form.access],
    label: form.label.replace(/\p{Cc}/gu, ' ').trim() || null,
    expiresAt: expiryOf(form, now)?.toISOString() ?? null,
    maxDownloads: downloads ? (parseCount(form.maxDownloads) ?? null) : null,
    maxUploads: uploads ? (parseCount(form.maxUploads) ?? null) : null,
    maxUploadBytes: uploads ? (parseMegabytes(form.maxSize) ?? null) : null,
    askSender: uploads && form.asksSender,
  };
}

const isInvalid = (text: string, parse: (text: string) => number | undefined): boolean =>
  text.trim() !== '' && parse(text) === undefined;

/** Returns a whole number above 0; undefined for any other text. */
function parseCount(text: string): number | undefined {
  const digits = latinDigits(text);
  const count = /^\d+$/.test(digits) ? Number(digits) : 0;
  return count > 0 && Number.isSafeInteger(count) ? count : undefined;
}

/** Returns a number of MB in bytes; undefined for any other text. Rejects three decimals, because `1.500` can mean 1,500. */
function parseMegabytes(text: string): number | undefined {
  const digits = latinDigits(text).replace(/[,٫]/, '.');
  const bytes = /^\d+(?:\.(?!\d{3}$)\d{1,6})?$/.test(digits) ? Math.round(Number(digits) * BYTES_PER_MB) : 0;
  return bytes > 0 && Number.isSafeInteger(bytes) ? bytes : undefined;
}

function megabytesOf(bytes: number): string {
  const text = String(bytes / BYTES_PER_MB);
  return /\.\d{3}$/.test(text) ? `${text}0` : text;
}

/** Returns a text with the digits of other scripts as `0` to `9`: Arabic, Persian, and full width. */
function latinDigits(text: string): string {
  // The last four bits of the code points are the values of the digits, because each script begins at a multiple of 16.
  const latin = (digit: string) => String((digit.codePointAt(0) ?? 0) & 15);
  return text.trim().replace(/[\u0660-\u0669\u06f0-\u06f9\uff10-\uff19]/g, latin);
}
