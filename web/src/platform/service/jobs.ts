import type { JobList, JobResponse } from '../../../../src/http/schemas.ts';
import type { JobMemory } from './job-memory.ts';
import { type Progress, requestOperation } from './operation-request.ts';
import type { RequestOptions } from './request.ts';
import type { SendOptions, Service } from './service.ts';
import { asServiceError, noResponse, ServiceError, serviceErrorOf } from './service-error.ts';

/*
 * Long operations as jobs of the HTTP API. They continue without the page, and after a restart of the service.
 */

export type Job = JobResponse['job'];

export interface OperationOptions {
  /** Cancels the operation. A job ends a moment later. */
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** Called with true when the operation has become a job, which continues without the page, and with false at its end. */
  readonly onDetached?: ((isDetached: boolean) => void) | undefined;
}

/** The kind of a job, and the part of its input that distinguishes it from other jobs. */
export interface JobKey {
  readonly kind: string;
  readonly input: Readonly<Record<string, string | boolean>>;
}

export interface JobRequest extends Pick<RequestOptions, 'method' | 'body'>, Pick<SendOptions, 'query'> {
  readonly job: JobKey;
}

export interface Jobs {
  /**
   * Requests an operation, and resolves when it has ended: with the body of the response, or with the result of its job. If
   * the response is lost, follows the job that the service has started. Throws `ServiceError`, or an `AbortError` if the
   * operation was cancelled, also by another page.
   */
  run<Body>(endpoint: string, request: JobRequest, options: OperationOptions): Promise<Body>;
  /** Follows a job to its end, and returns its result. Throws like `run`. */
  follow<Result>(job: Job, options: OperationOptions): Promise<Result>;
  /**
   * Returns the jobs of the user that this page does not follow: the unfinished ones of other pages, and those of this tab
   * from before a reload, which can have ended.
   */
  findOthers(): Promise<readonly Job[]>;
}

export interface JobsOptions {
  /** Returns the username; null for an anonymous user. */
  readonly user: () => string | null;
  /** Returns whether the service lists the jobs of the user. It does not list those of anonymous users, if there are others. */
  readonly isListed: () => boolean;
  readonly memory: JobMemory;
  /** Resolves after so many milliseconds, or earlier if there is a reason not to wait. Never rejects. */
  readonly pause: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** Milliseconds between two requests for the state of a job. After failures, the pause doubles each time. */
const POLL_MS = 1_000;
const MAX_POLL_MS = 30_000;

/** The maximum number of attempts to find the job of a lost response. Together, their pauses last 15 seconds. */
const MAX_SEARCHES = 5;

/** The number of newest jobs among which that job is. */
const SEARCHED_JOBS = 50;

/** Milliseconds by which the clock of the service can be behind that of the browser. */
const CLOCK_TOLERANCE_MS = 2_000;

export function createJobs(service: Pick<Service, 'send'>, { user, isListed, memory, pause }: JobsOptions): Jobs {
  /** The IDs of the jobs that this page follows. */
  const followed = new Set<string>();
  /** The jobs that the requests in progress start. Their IDs are not known yet. */
  const starting = new Set<JobKey>();

  const list = async (options: Pick<SendOptions, 'query' | 'isBackground'>): Promise<readonly Job[]> => {
    if (!isListed()) return [];
    const { jobs } = await service.send<JobList>('-/jobs', options);
    // Users who manage the root get the jobs of all users.
    return jobs.filter((job) => job.user === user() && !followed.has(job.id));
  };

  /** Returns the job that a request has started whose response was lost. */
  const findLost = async (key: JobKey, since: number, signal: AbortSignal | undefined): Promise<Job | undefined> => {
    for (let searches = 1; ; searches++) {
      try {
        const jobs = await list({ query: { limit: String(SEARCHED_JOBS) } });
        return jobs.find((job) => isMatch(job, key) && Date.parse(job.createdAt) >= since - CLOCK_TOLERANCE_MS);
      } catch (error) {
        if (!isResponseLost(error) || searches === MAX_SEARCHES || signal?.aborted) return undefined;
      }
      await pause(POLL_MS * 2 ** (searches - 1), signal);
    }
  };

  const follow: Jobs['follow'] = async <Result>(job: Job, options: OperationOptions): Promise<Result> => {
    followed.add(job.id);
    memory.add(job.id, user());
    options.onDetached?.(true);
    try {
      return (await untilEnded(service, job, { ...options, pause })) as Result;
    } finally {
      options.onDetached?.(false);
      followed.delete(job.id);
      memory.delete(job.id);
    }
  };

  return {
    follow,

    async run<Body>(endpoint: string, { job, ...request }: JobRequest, options: OperationOptions): Promise<Body> {
      const { signal, onProgress = () => {} } = options;
      const since = Date.now();
      let response: Body | JobResponse;
      starting.add(job);
      try {
        response = await service.send<Body | JobResponse>(endpoint, {
          ...request,
          signal,
          request: (url, sent) => requestOperation(url, { ...sent, onProgress }),
        });
      } catch (error) {
        const found = isResponseLost(error) ? await findLost(job, since, signal) : undefined;
        if (!found) {
          signal?.throwIfAborted();
          throw error;
        }
        response = { success: true, job: found };
      } finally {
        starting.delete(job);
      }
      return isJobResponse(response) ? follow<Body>(response.job, options) : response;
    },

    async findOthers() {
      const remembered = memory.idsOf(user()).filter((id) => !followed.has(id));
      const listed = await list({ query: { unfinished: 'true' }, isBackground: true });
      const others = listed.filter((job) => ![...starting].some((key) => isMatch(job, key)));
      const missing = remembered.filter((id) => others.every((job) => job.id !== id));
      const found = await Promise.all(
        missing.map((id) =>
          readJob(service, id, { isBackground: true }).catch((error: unknown) => {
            // After signing in again, the user is told how it ended.
            if (!asServiceError(error).isSignInRequired) memory.delete(id);
          }),
        ),
      );
      return [...others, ...found.filter((job) => job !== undefined)];
    },
  };
}

/** Returns the result of a job when it has ended. Throws its failure. */
async function untilEnded(
  service: Pick<Service, 'send'>,
  { id }: Job,
  { signal, onProgress, pause }: OperationOptions & Pick<JobsOptions, 'pause'>,
): Promise<object> {
  let isCancelSent = false;
  let delay = POLL_MS;
  for (;;) {
    const isCancelled = signal?.aborted ?? false;
    const isCancelling = isCancelled && !isCancelSent;
    const job: Job | undefined = await readJob(service, id, isCancelling ? { method: 'DELETE' } : undefined);
    isCancelSent ||= isCancelled && job !== undefined;
    if (job?.progress) onProgress?.(job.progress);
    if (job?.status === 'succeeded') return job.result ?? {};
    // The code of the failure says everything that the status would.
    if (job?.status === 'failed') throw serviceErrorOf(0, job.failure, null);
    if (job?.status === 'cancelled') throw new DOMException('The job was cancelled.', 'AbortError');
    delay = job ? POLL_MS : Math.min(delay * 2, MAX_POLL_MS);
    await pause(delay, isCancelled ? undefined : signal);
  }
}

/** Returns the state of a job, after cancelling it with `DELETE`; undefined if the same request can succeed later. */
async function readJob(
  service: Pick<Service, 'send'>,
  id: string,
  options?: Pick<SendOptions, 'method' | 'isBackground'>,
): Promise<Job | undefined> {
  try {
    return (await service.send<JobResponse>(`-/jobs/${id}`, options)).job;
  } catch (error) {
    const problem = asServiceError(error);
    // The service lost its database, so the outcome is unknown.
    if (problem.code === 'job-not-found') throw noResponse();
    if (!problem.isTransient) throw problem;
    return undefined;
  }
}

function isMatch({ kind, input }: Job, key: JobKey): boolean {
  return kind === key.kind && Object.entries(key.input).every(([name, value]) => input[name] === value);
}

/** Returns whether the response of the service did not arrive, so that it might have done what was requested. */
function isResponseLost(error: unknown): boolean {
  return error instanceof ServiceError && error.code === undefined && error.isOutcomeUnknown;
}

function isJobResponse(response: unknown): response is JobResponse {
  return typeof response === 'object' && response !== null && 'job' in response;
}
