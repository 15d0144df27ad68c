import type { ProblemCode, ServiceError } from '../service/service-error.ts';
import type { Formats } from './formats.ts';
import { folderName } from './names.ts';
import type { Text } from './text.ts';
import { timeOfDay } from './time-of-day.ts';

/** Explains failed requests in the language of the page, and never with the English message of the service. */
export interface Reasons {
  /** Returns why a request failed, and what to do about it. */
  reasonOf(error: ServiceError): string;
  /** Returns why a request that the page retries has failed, without the advice to check the result or to try again. */
  retryReasonOf(error: ServiceError): string;
}

export function createReasons({ text, formats }: { readonly text: Text; readonly formats: Formats }): Reasons {
  // A newer version of the service might have codes that this page does not know.
  const messageKeyOf = ({ code, status }: ServiceError): MessageKey | undefined => {
    const key = code && keyOfCode(code);
    return key !== undefined && Object.hasOwn(text.errors, key) ? key : MESSAGE_OF_STATUS[status];
  };
  const messageOf = (error: ServiceError, key: MessageKey | undefined): string => {
    if (error.lock) return lockReason(error.lock);
    if (error.limit !== undefined) return text.uploads.tooLarge({ limit: formats.size(error.limit) });
    return key === undefined ? text.retries.status({ status: String(error.status) }) : text.errors[key];
  };
  const lockReason = ({ path, user, expiresAt }: NonNullable<ServiceError['lock']>): string => {
    const item = folderName(path, text);
    const time = timeOfDay(formats, new Date(expiresAt));
    return user === undefined
      ? text.locks.lockedItem({ item, time })
      : text.locks.lockedItemBy({ item, name: user, time });
  };
  return {
    retryReasonOf(error) {
      const key = messageKeyOf(error);
      return messageOf(error, key === 'outcome-unknown' ? 'store-unreachable' : key);
    },
    reasonOf(error) {
      const key = messageKeyOf(error);
      const message = messageOf(error, key);
      if (!error.isTransient || hasAdvice(key)) return message;
      if (error.retryAfter === undefined) return text.retries.soon({ message });
      return text.retries.in({ message, wait: formats.duration(error.retryAfter) });
    },
  };
}

/** The keys of messages are codes. */
type MessageKey = keyof Text['errors'];

function keyOfCode(code: ProblemCode): MessageKey {
  return isAlias(code) ? ALIASES[code] : code;
}

function isAlias(code: ProblemCode): code is keyof typeof ALIASES {
  return Object.hasOwn(ALIASES, code);
}

/** Whether the message of a transient error already says what to do. */
function hasAdvice(key: MessageKey | undefined): boolean {
  return key === 'unreachable' || key === 'listing-incomplete' || key === 'outcome-unknown';
}

/** Responses of reverse proxies, which have no code. */
const MESSAGE_OF_STATUS: Readonly<Record<number, MessageKey>> = {
  0: 'unreachable',
  401: 'sign-in-required',
  403: 'permission-denied',
  404: 'not-found',
  408: 'request-timeout',
  412: 'already-exists',
  413: 'too-large',
  429: 'rate-limited',
  500: 'internal-error',
  502: 'unavailable',
  503: 'unavailable',
  504: 'request-timeout',
};

/** The message of each code that has none of its own. The compiler reports a code without a message. */
const ALIASES: Readonly<Record<Exclude<ProblemCode, MessageKey>, MessageKey>> = {
  'body-too-large': 'invalid-request',
  'branch-not-found': 'store-misconfigured',
  'bucket-not-found': 'store-misconfigured',
  'cache-unavailable': 'temporary-folder-full',
  'checksum-mismatch': 'invalid-request',
  'clock-skew': 'store-misconfigured',
  'condition-failed': 'file-changed',
  'credentials-missing': 'store-misconfigured',
  'cross-site-request': 'unknown-host',
  'cursor-expired': 'invalid-request',
  'damaged-image': 'unsupported-image',
  'database-unavailable': 'unavailable',
  'digest-mismatch': 'invalid-request',
  'disk-error': 'store-inconsistent',
  'embedding-refused': 'invalid-request',
  'expectation-failed': 'invalid-request',
  'expired-access-key': 'store-misconfigured',
  'form-too-large': 'invalid-request',
  'headers-too-large': 'invalid-request',
  'identity-provider-unavailable': 'sessions-unavailable',
  'image-too-complex': 'unsupported-image',
  'image-too-large': 'unsupported-image',
  'invalid-bucket-name': 'store-misconfigured',
  'invalid-credentials': 'sign-in-required',
  'invalid-cursor': 'invalid-request',
  'invalid-form': 'invalid-request',
  'invalid-header': 'invalid-request',
  'invalid-host': 'unknown-host',
  'invalid-json': 'invalid-request',
  'invalid-parameter': 'invalid-request',
  'invalid-signature': 'url-expired',
  'invalid-token': 'sign-in-required',
  'job-not-found': 'not-found',
  'json-required': 'invalid-request',
  'list-permission-missing': 'store-misconfigured',
  'malformed-request': 'invalid-request',
  'malformed-url': 'invalid-path',
  'method-not-allowed': 'invalid-request',
  'missing-file': 'invalid-request',
  'name-taken': 'already-exists',
  'offset-type-required': 'invalid-request',
  'outlasts-credential': 'permission-denied',
  overloaded: 'store-busy',
  'range-unsatisfiable': 'file-changed',
  'repository-not-found': 'store-misconfigured',
  'session-ended': 'sign-in-required',
  'sign-in-expired': 'sign-in-failed',
  'state-full': 'temporary-folder-full',
  'thumbnail-failed': 'unsupported-image',
  'token-expired': 'sign-in-required',
  'token-lacks-permission': 'store-not-writable',
  'token-rejected': 'store-misconfigured',
  'too-large-for-store': 'too-large',
  'too-many-properties': 'too-large',
  'unexpected-store-response': 'store-inconsistent',
  'unknown-access-key': 'store-misconfigured',
  'unknown-route': 'invalid-request',
  'unsupported-encoding': 'invalid-request',
  'unsupported-method': 'invalid-request',
  'unsupported-tus-version': 'invalid-request',
  'upload-in-use': 'store-busy',
  'upload-not-found': 'not-found',
  'upload-offset-mismatch': 'invalid-request',
  'wrong-origin': 'unknown-host',
  'wrong-region': 'store-misconfigured',
  'wrong-secret-key': 'store-misconfigured',
};
