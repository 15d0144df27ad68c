import type { Job, Message, Results } from './worker.ts';
// oxlint-disable-next-line import/default -- Vite makes the URL of the built worker of it.
import workerUrl from './worker.ts?worker&url';

/** The timeout of a job, without loading the worker, and that of jobs on large files. */
const JOB_TIMEOUT_MS = 5_000;
const LARGE_JOB_TIMEOUT_MS = 20_000;

const LARGE_JOBS: ReadonlySet<Job['kind']> = new Set(['table', 'sort', 'office']);

/** Thrown if the code of the worker fails to load. */
export class WorkerNotLoaded extends Error {
  override readonly name = 'WorkerNotLoaded';
}

/**
 * Runs a job in its own worker. Rejects with `WorkerNotLoaded`, or with another error if the job fails, times out or
 * is cancelled by `signal`.
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
      timer = setTimeout(cancel, LARGE_JOBS.has(job.kind) ? LARGE_JOB_TIMEOUT_MS : JOB_TIMEOUT_MS);
    } else {
      end();
      // The result has the kind of the job.
      resolve(data.result as Results[Kind]);
    }
  });
  return promise;
}

interface Policies {
  createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(url: string): string };
}

/**
 * Returns the URL of the worker as a trusted script URL. Trusted Types require a named policy, which allows no other
 * URL.
 */
function trustedUrl(): string {
  const { trustedTypes } = window as { trustedTypes?: Policies };
  policy ??= trustedTypes?.createPolicy('preview-worker', { createScriptURL: () => workerUrl });
  return policy?.createScriptURL('') ?? workerUrl;
}

let policy: ReturnType<Policies['createPolicy']> | undefined;
