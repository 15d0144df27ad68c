import { requestJson } from './request.ts';
import { ServiceError } from './service-error.ts';
import type { Urls } from './urls.ts';

/** Timeout of the requests of the password form. */
const TIMEOUT_MS = 30_000;

/**
 * Sends the password of the link. The response sets a cookie, with which all further requests are allowed. Throws
 * `ServiceError`, with the code `wrong-link-password` if the password is wrong.
 */
export async function unlockLink(urls: Urls, password: string): Promise<void> {
  await requestJson(urls.endpoint('-/link/session'), { method: 'POST', body: { password }, idleTimeout: TIMEOUT_MS });
}

/** Returns whether requests are allowed; false if the browser did not keep the cookie. Throws `ServiceError`. */
export async function isLinkUnlocked(urls: Urls): Promise<boolean> {
  try {
    await requestJson(urls.endpoint('-/link'), { idleTimeout: TIMEOUT_MS });
    return true;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'link-password-required') return false;
    throw error;
  }
}
