import type { Service } from '../service/service.ts';
import { ServiceError } from '../service/service-error.ts';
import type { Account } from './account.ts';
import type { Rights } from './rights.ts';

interface Watching {
  readonly account: Account;
  readonly rights: Rights;
  /** Who the service says is signed in; undefined where it does not say. */
  readonly whoIs: () => Promise<string | null | undefined>;
}

/**
 * The service as one uses it who may have to sign in: what is refused for want of that waits until a person did, and is
 * sent again then, so that nothing under way is lost when a session ends. It fails where they would rather not. What
 * listings say of rights is taken in.
 */
export function watchService(service: Service, { account, rights, whoIs }: Watching): Service {
  const patiently = async <Answer>(request: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer> => {
    for (;;) {
      const before = account.times.peek();
      try {
        return await request();
      } catch (error) {
        if (!(error instanceof ServiceError) || error.status !== 401) throw error;
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
      throw new ServiceError(401, error.message);
    }
  };

  return {
    async list(folder, options) {
      const listing = await patiently(() => service.list(folder, options), options?.signal);
      rights.learn(listing);
      return listing;
    },
    upload: (upload) => patiently(() => orSessionEnded(service.upload(upload)), upload.signal),
    createFolder: (path, signal) => patiently(() => service.createFolder(path, signal), signal),
    rename: (path, newName, options) => patiently(() => service.rename(path, newName, options), options?.signal),
    transfer: (kind, source, destination, options) =>
      patiently(() => service.transfer(kind, source, destination, options), options?.signal),
    remove: (path, options) => patiently(() => service.remove(path, options), options?.signal),
    read: (path, part) => patiently(() => service.read(path, part), part.signal),
    check: (path, signal) => patiently(() => service.check(path, signal), signal),
  };
}

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
