import type { Job, Message, Results } from './jobs.ts';
// oxlint-disable-next-line import/default -- Vite makes the URL of the built worker of it.
import workerUrl from './worker.ts?worker&url';

/** Milliseconds after which a job is given up; the time in which the worker is loaded is none of it. */
const LONGEST = 5_000;

/** Does a job in a worker of its own. Rejects when it fails or takes too long; then, and by `signal`, it is ended. */
export function runJob<Kind extends Job['kind']>(
  job: Extract<Job, { kind: Kind }>,
  signal: AbortSignal,
): Promise<Results[Kind]> {
  const { promise, resolve, reject } = Promise.withResolvers<Results[Kind]>();
  const worker = new Worker(trustedUrl(), { type: 'module' });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = () => {
    clearTimeout(timer);
    worker.terminate();
    signal.removeEventListener('abort', give);
  };
  const give = () => {
    end();
    reject(new Error('The job is not wanted, or took too long.'));
  };
  signal.addEventListener('abort', give);
  worker.addEventListener('error', (event) => {
    end();
    reject(new Error(event.message || 'The worker could not be loaded.'));
  });
  worker.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    if (data.kind === 'ready') {
      worker.postMessage(job, { transfer: [] });
      timer = setTimeout(give, LONGEST);
    } else {
      end();
      // What a job gives belongs to its kind.
      resolve(data.result as Results[Kind]);
    }
  });
  return promise;
}

interface Policies {
  createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(url: string): string };
}

/** The page's policy takes only URLs of scripts that a policy of Trusted Types vouches for: here, for one alone. */
function trustedUrl(): string {
  const { trustedTypes } = window as { trustedTypes?: Policies };
  policy ??= trustedTypes?.createPolicy('preview-worker', { createScriptURL: () => workerUrl });
  return policy?.createScriptURL('') ?? workerUrl;
}

let policy: ReturnType<Policies['createPolicy']> | undefined;
