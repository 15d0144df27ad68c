import type { ReadonlySignal } from '@preact/signals';
import type { SendOptions, Service } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import { unlessAborted } from '../../platform/unless-aborted.ts';
import type { Account } from './account.ts';
import type { Permissions } from './permissions.ts';

interface ReauthOptions {
  readonly account: Account;
  readonly permissions: Permissions;
  /** The path of the shown folder. */
  readonly shown: ReadonlySignal<string>;
  /** Receives 1 when a change starts, and -1 when it ends. A change can wait until the user signs in. */
  readonly onChange: (by: 1 | -1) => void;
  /** Returns the username of the session, null without a session, and undefined if the service does not respond. */
  readonly readUser: () => Promise<string | null | undefined>;
}

/**
 * Wraps the service so that expired sessions lose no work: a request that requires signing in waits until the user
 * signs in, and is then sent again. It fails if the user declines. A background request fails at once, because a dialog
 * would get the keys that the user is pressing. Also stores the permissions of each listing, and requests them again
 * after a change was denied.
 */
export function withReauth(
  service: Service,
  { account, permissions, shown, onChange, readUser }: ReauthOptions,
): Service {
  const withSignIn = async <Result>(
    request: () => Promise<Result>,
    { signal, isBackground = false }: Pick<SendOptions, 'signal' | 'isBackground'> = {},
  ): Promise<Result> => {
    for (;;) {
      const countBefore = account.signInCount.peek();
      try {
        return await request();
      } catch (error) {
        if (!(error instanceof ServiceError && error.isSignInRequired)) throw error;
        // The user can have signed in since the request was sent, because of another request.
        const hasSignedIn = account.signInCount.peek() !== countBefore;
        if (hasSignedIn) continue;
        if (isBackground) account.expire();
        if (isBackground || !(await unlessAborted(account.reauthenticate(), signal))) throw error;
      }
    }
  };
  /** Detects an expired session when the service closed the connection of a long upload without a response. */
  const detectExpiredSession = async <Result>(upload: Promise<Result>): Promise<Result> => {
    try {
      return await upload;
    } catch (error) {
      const hasNoResponse = error instanceof ServiceError && error.status === 0;
      if (!hasNoResponse || account.username.peek() === null || (await readUser()) !== null) throw error;
      throw new ServiceError(401, error.message, { code: 'session-ended' });
    }
  };

  const list: Service['list'] = async (folder, options) => {
    try {
      const listing = await withSignIn(() => service.list(folder, options), options);
      permissions.update(listing);
      return listing;
    } catch (error) {
      if (isForbidden(error)) permissions.update({ prefix: folder, rights: [] });
      throw error;
    }
  };
  let isRefreshing = false;
  const refreshPermissions = async () => {
    if (isRefreshing) return;
    isRefreshing = true;
    await list(shown.peek(), { limit: 1, isBackground: true }).catch(() => {});
    isRefreshing = false;
  };
  const change = async <Result>(
    request: () => Promise<Result>,
    options?: Pick<SendOptions, 'signal' | 'isBackground'>,
  ): Promise<Result> => {
    onChange(1);
    try {
      return await withSignIn(request, options);
    } catch (error) {
      if (isForbidden(error)) void refreshPermissions();
      throw error;
    } finally {
      onChange(-1);
    }
  };

  return {
    list,
    upload: (upload) => change(() => detectExpiredSession(service.upload(upload)), upload),
    createFolder: (path, signal) => change(() => service.createFolder(path, signal), { signal }),
    read: (path, range) => withSignIn(() => service.read(path, range), range),
    check: (path, signal) => withSignIn(() => service.check(path, signal), { signal }),
    send: (endpoint, options) =>
      (options?.method ? change : withSignIn)(() => service.send(endpoint, options), options),
  };
}

const isForbidden = (error: unknown) => error instanceof ServiceError && error.isPermissionDenied;
