import type { ReadonlySignal } from '@preact/signals';
import type { Service } from '../../platform/service/service.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import type { Account } from './account.ts';
import type { Permissions } from './permissions.ts';

interface Watching {
  readonly account: Account;
  readonly permissions: Permissions;
  /** The folder that is shown. */
  readonly shown: ReadonlySignal<string>;
  /** Told of each change when it is begun, by 1, and when it has ended, by -1; it may wait for somebody to sign in. */
  readonly count: (by: 1 | -1) => void;
  /** Who the service says is signed in; undefined where it does not say. */
  readonly whoIs: () => Promise<string | null | undefined>;
}

/**
 * The service as one uses it who may have to sign in: what is refused for want of that waits until a person did, and is
 * sent again then, so that nothing under way is lost when a session ends. It fails where they would rather not. What
 * listings say of permissions is taken in, and asked for anew when a change is refused.
 */
export function watchService(service: Service, { account, permissions, shown, count, whoIs }: Watching): Service {
  const patiently = async <Answer>(request: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer> => {
    for (;;) {
      const before = account.times.peek();
      try {
        return await request();
      } catch (error) {
        if (!(error instanceof ServiceError && error.isSignInRequired)) throw error;
        // Others may have waited for the same, and somebody has signed in meanwhile.
        const hasChanged = account.times.peek() !== before;
        if (!hasChanged && !(await unlessAborted(account.askAgain(), signal))) throw error;
      }
    }
  };
  /** A refusal in the middle of a long upload may break it off, and then there is no answer that says so. */
  const orSessionEnded = async <Answer>(uploading: Promise<Answer>): Promise<Answer> => {
    try {
      return await uploading;
    } catch (error) {
      const isUnanswered = error instanceof ServiceError && error.status === 0;
      if (!isUnanswered || account.name.peek() === null || (await whoIs()) !== null) throw error;
      throw new ServiceError(401, error.message, { code: 'session-ended' });
    }
  };

  const list: Service['list'] = async (folder, options) => {
    try {
      const listing = await patiently(() => service.list(folder, options), options?.signal);
      permissions.learn(listing);
      return listing;
    } catch (error) {
      if (isForbidden(error)) permissions.learn({ prefix: folder, rights: [] });
      throw error;
    }
  };
  let isLearning = false;
  const learnAnew = async () => {
    if (isLearning) return;
    isLearning = true;
    await list(shown.peek(), { limit: 1 }).catch(() => {});
    isLearning = false;
  };
  const change = async <Answer>(request: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer> => {
    count(1);
    try {
      return await patiently(request, signal);
    } catch (error) {
      if (isForbidden(error)) void learnAnew();
      throw error;
    } finally {
      count(-1);
    }
  };

  return {
    list,
    upload: (upload) => change(() => orSessionEnded(service.upload(upload)), upload.signal),
    createFolder: (path, signal) => change(() => service.createFolder(path, signal), signal),
    rename: (path, newName, options) => change(() => service.rename(path, newName, options), options?.signal),
    transfer: (kind, source, destination, options) =>
      change(() => service.transfer(kind, source, destination, options), options?.signal),
    remove: (path, options) => change(() => service.remove(path, options), options?.signal),
    read: (path, part) => patiently(() => service.read(path, part), part.signal),
    check: (path, signal) => patiently(() => service.check(path, signal), signal),
  };
}

const isForbidden = (error: unknown) => error instanceof ServiceError && error.isPermissionDenied;

/** Waits, but no longer than until the signal is aborted: then its reason is thrown. */
async function unlessAborted<Result>(waiting: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (!signal) return waiting;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([waiting, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
