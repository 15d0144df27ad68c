import type { Job, Message, Results } from './jobs.ts';
// oxlint-disable-next-line import/default -- Vite makes the URL of the built worker of it.
import workerUrl from './worker.ts?worker&url';

/** The time limit of a job, without loading the worker. */
const JOB_TIMEOUT_MS = 5_000;

/** The code of the worker could not be loaded. */
export class WorkerNotLoaded extends Error {
  override readonly name = 'WorkerNotLoaded';
}

/**
 * Runs a job in a worker of its own. Rejects with `WorkerNotLoaded`, or with another error if the job fails, takes too
 * long, or is cancelled by `signal`.
 */
export function runJob<Kind extends Job['kind']>(
  job: Extract<Job, { kind: Kind }>,
  signal: AbortSignal,
): Promise<Results[Kind]> {
  const { promise, resolve, reject } = Promise.withResolvers<Results[Kind]>();
  const worker = new Worker(trustedUrl(), { type: 'module' });
  let isReady = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const end = () => {
    clearTimeout(timer);
    worker.terminate();
    signal.removeEventListener('abort', cancel);
  };
  const cancel = () => {
    end();
    reject(new Error('The job was cancelled or took too long.'));
  };
  signal.addEventListener('abort', cancel);
  worker.addEventListener('error', (event) => {
    end();
    reject(isReady ? new Error(event.message) : new WorkerNotLoaded(event.message));
  });
  worker.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    if (data.kind === 'ready') {
      isReady = true;
      worker.postMessage(job, { transfer: [] });
      timer = setTimeout(cancel, JOB_TIMEOUT_MS);
    } else {
      end();
      // The worker returns the result of the kind that it was given.
      resolve(data.result as Results[Kind]);
    }
  });
  return promise;
}

interface Policies {
  createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(url: string): string };
}

/** Trusted Types accept a script URL only from a named policy. This one returns the URL of the worker and no other. */
function trustedUrl(): string {
  const { trustedTypes } = window as { trustedTypes?: Policies };
  policy ??= trustedTypes?.createPolicy('preview-worker', { createScriptURL: () => workerUrl });
  return policy?.createScriptURL('') ?? workerUrl;
}

let policy: ReturnType<Policies['createPolicy']> | undefined;
