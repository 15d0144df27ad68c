import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Static, Type } from 'typebox';
import type { Operation } from '../../access/guard.ts';
import type { Job, JobFailure } from '../../jobs/job.ts';
import { jobOf } from '../../jobs/operations.ts';
import type { JobQueue } from '../../jobs/queue.ts';
import { isStoreError, quoted } from '../../model/error.ts';
import { ROOT } from '../../model/path.ts';
import { readOnlyError } from '../../model/store-errors.ts';
import { preferenceOf } from '../accept.ts';
import { visitorOf } from '../access/link-access.ts';
import { accessOf, type ChangeField } from '../access/request-access.ts';
import { isErrorCode } from '../error-codes.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../fastify-app.ts';
import { clientSignal } from '../long-operations.ts';
import { publicPathOf } from '../public-path.ts';
import { Failure, JobList, JobQuery, JobResponse } from '../schemas.ts';
import type { Service } from '../service.ts';

/** Default number of jobs in a page. */
const DEFAULT_LIMIT = 100;

/** Registers the routes for jobs: a user sees their own, and users who manage the root see all. */
export function jobRoutes(app: App, queue: JobQueue): void {
  const params = Type.Object({ id: Type.String({ description: 'The ID of the job.' }) });
  const response = { 200: JobResponse, '4xx': Failure, '5xx': Failure };
  const findVisible = async (request: FastifyRequest, id: string) => {
    const job = await queue.find(id);
    if (job && isVisible(request, job)) return job;
    throw new HttpError('job-not-found', `The job ${quoted(id)} does not exist, or ended more than a day ago.`);
  };

  app.get(
    '/-/jobs',
    {
      config: { access: 'jobs' },
      schema: {
        tags: ['Jobs'],
        summary: 'List jobs',
        description:
          "Returns the user's jobs, with the newest first; with an app token, only those that it started. Users with the manage permission for the root get the jobs of all users.",
        querystring: JobQuery,
        response: { 200: JobList, '4xx': Failure, '5xx': Failure },
      },
    },
    async (request, reply) => {
      const { limit = DEFAULT_LIMIT, cursor, unfinished = false } = request.query;
      const { user, appToken } = accessOf(request);
      const owner = managesRoot(request) ? undefined : user?.name;
      reply.header('cache-control', 'no-store');
      // The jobs of anonymous users are not listed, because they could belong to different clients.
      if (owner === undefined && !managesRoot(request)) return { success: true as const, jobs: [] };
      const page = await queue.list({ owner, appToken, limit, cursor, unfinished });
      const jobs = page.jobs.map(describeJob);
      return { success: true as const, jobs, ...(page.cursor !== undefined && { cursor: page.cursor }) };
    },
  );

  app.get(
    '/-/jobs/:id',
    { config: { access: 'jobs' }, schema: { tags: ['Jobs'], summary: 'Get a job', params, response } },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      return { success: true, job: describeJob(await findVisible(request, request.params.id)) } as const;
    },
  );

  app.delete(
    '/-/jobs/:id',
    {
      config: { access: 'jobs' },
      schema: {
        tags: ['Jobs'],
        summary: 'Cancel a job',
        description:
          'A queued job ends at once. A running job ends within a few seconds, or completes if it can no longer be cancelled. A finished job remains as it is.',
        params,
        response,
      },
    },
    async (request, reply) => {
      const { id } = await findVisible(request, request.params.id);
      const job = (await queue.cancel(id)) ?? (await findVisible(request, id));
      reply.header('cache-control', 'no-store');
      return { success: true, job: describeJob(job) } as const;
    },
  );
}

/** The result of a job, as its kind returns it. */
export type JobResult = Readonly<Record<string, unknown>>;

/** Runs operations as jobs, for clients that prefer that. */
export interface JobStarter {
  /**
   * Starts the operation, or what the function returns, as a job if the request has `Prefer: respond-async` (RFC 7240, section 4.1). With `wait`, waits
   * at most that many seconds for its end (section 4.3). Returns `respond` of its result, or throws its failure. If the
   * job takes longer or is cancelled, sets the status 202 and the headers of the response, and returns its body.
   *
   * Returns undefined without the preference, for visitors of share links, and while the database is unavailable or full: the preference is then
   * ignored, so that deletes free space on a full disk.
   * Throws `AccessDenied` if the user lacks a permission.
   */
  start<Envelope>(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: Operation | (() => Promise<Operation>),
    respond: (result: JobResult) => Envelope,
  ): Promise<Envelope | Static<typeof JobResponse> | undefined>;
}

/** Maximum seconds that a request waits for the end of its job. Proxies in front of the service have timeouts. */
const MAX_WAIT_SECONDS = 10;

export function createJobStarter(service: Service): JobStarter {
  const { jobs, database, readOnly } = service;
  const publicPath = publicPathOf(service);
  return {
    async start(request, reply, operation, respond) {
      if (!jobs || !database?.isAvailable || preferenceOf(request.headers, 'respond-async') !== '') return undefined;
      // A job would continue after the link is revoked.
      if (visitorOf(request)) return undefined;
      if (readOnly) throw readOnlyError();
      const access = accessOf(request);
      const requested = typeof operation === 'function' ? await operation() : operation;
      await access.files.requireOperation(requested);
      const { kind, input } = jobOf(requested);
      const submitted = await jobs.submit(kind, input, access.submitter()).catch(unlessFull);
      if (!submitted) return undefined;
      const wait = waitOf(request);
      const signal = clientSignal(reply);
      const job = wait ? await untilEnded(jobs, submitted, { timeoutMs: wait * 1000, signal }) : submitted;
      reply.header('cache-control', 'no-store');
      if (job.status === 'succeeded') return respond({ ...job.result });
      if (job.status === 'failed' && job.failure) throw errorOf(job.failure);
      reply
        .code(202)
        .header('location', `${publicPath}/-/jobs/${job.id}`)
        .header('preference-applied', wait === undefined ? 'respond-async' : `respond-async, wait=${wait}`);
      return { success: true, job: describeJob(job) };
    },
  };
}

/** Returns the seconds that a client prefers to wait, at most the maximum; undefined if it has no such preference. */
function waitOf({ headers }: FastifyRequest): number | undefined {
  const wait = preferenceOf(headers, 'wait');
  return wait !== undefined && /^\d+$/.test(wait) ? Math.min(Number(wait), MAX_WAIT_SECONDS) : undefined;
}

/** A full database has not added the job. */
function unlessFull(error: unknown): undefined {
  if (!isStoreError(error) || error.code !== 'state-full') throw error;
}

async function untilEnded(
  jobs: JobQueue,
  submitted: Job,
  timing: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Job> {
  try {
    return (await jobs.untilEnded(submitted.id, timing)) ?? submitted;
  } catch (error) {
    // The job continues when the database is available again.
    if (isStoreError(error, 'unavailable')) return submitted;
    throw error;
  }
}

/** Returns the ID of the change that a job has made. */
export function changeOfJob({ change }: JobResult): ChangeField {
  return typeof change === 'string' ? { change } : {};
}

/** Returns the error that the operation would have thrown without a job. */
function errorOf({ code, message, lock }: JobFailure): HttpError {
  return new HttpError(isErrorCode(code) ? code : 'internal-error', message, { lock });
}

/** Returns whether a user sees the jobs of all users. Without an access file, everyone does. With an app token, no user does, and no anonymous user. */
function managesRoot(request: FastifyRequest): boolean {
  const access = accessOf(request);
  return (
    !access.isAnonymous && access.appToken === undefined && (access.permissionsFor(ROOT)?.includes('manage') ?? true)
  );
}

/** Only the client that started a job of an anonymous user knows its ID. The IDs of the service's own jobs are known. */
function isVisible(request: FastifyRequest, { submitter }: Job): boolean {
  if (managesRoot(request)) return true;
  const { user, appToken } = accessOf(request);
  const isOwn = !submitter.isService && user?.name === submitter.user?.name;
  return isOwn && (appToken === undefined || appToken === submitter.appToken);
}

function describeFailure({ code, message, lock }: JobFailure) {
  return { code, error: message, ...(lock && { lock }) };
}

function describeJob(job: Job) {
  const { id, kind, status, attempts, submitter, progress, result, failure, startedAt, finishedAt } = job;
  return {
    id,
    kind,
    status,
    user: submitter.user?.name ?? null,
    input: job.input as Record<string, unknown>,
    attempts,
    createdAt: job.createdAt.toISOString(),
    ...(startedAt && { startedAt: startedAt.toISOString() }),
    ...(finishedAt && { finishedAt: finishedAt.toISOString() }),
    ...(progress && { progress }),
    ...(result && { result: { ...result } }),
    ...(failure && { failure: describeFailure(failure) }),
  };
}
