import { requestJson } from './request.ts';
import type { Urls } from './urls.ts';

/** Timeout of signing in and out. */
const SESSION_TIMEOUT_MS = 30_000;

/** Returns the username of the session; null without a session. Throws `ServiceError`, like the functions below. */
export async function readSessionUser(urls: Urls): Promise<string | null> {
  const { name } = await requestJson<{ name: string | null }>(urls.endpoint('-/session'), {
    idleTimeout: SESSION_TIMEOUT_MS,
  });
  return name;
}

/** Creates a session. Returns the username. Throws `wrong-password` if the name or the password is wrong. */
export async function signIn(urls: Urls, body: { name: string; password: string }): Promise<string> {
  const { name } = await requestJson<{ name: string }>(urls.endpoint('-/session'), {
    method: 'POST',
    body,
    idleTimeout: SESSION_TIMEOUT_MS,
  });
  return name;
}

/** Revokes the session, on all devices that use it. */
export async function signOut(urls: Urls): Promise<void> {
  await requestJson(urls.endpoint('-/session'), { method: 'DELETE', idleTimeout: SESSION_TIMEOUT_MS });
}
