import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessDenied } from '../access/permission-checks.ts';
import type { Cancellable, Progress, Reporting } from '../model/store.ts';
import { acceptsExplicitly } from './accept.ts';
import { visitorOf } from './access/link-access.ts';
import { accessOf } from './access/request-access.ts';
import { failureOf, HttpError, problemOf } from './errors.ts';

const NDJSON = 'application/x-ndjson';

/** Minimum milliseconds between two progress lines. Ten per second look smooth and cost little. */
const MIN_PROGRESS_INTERVAL_MS = 100;

/** Runs long folder operations and responds in the format that the client accepts. */
export interface LongOperations {
  /**
   * Runs `operation` and responds with its result. The operation continues if the client disconnects, except
   * for visitors of share links.
   * For clients that accept `application/x-ndjson`, the response begins at once: lines of progress, then the result as
   * the last line. The operation is then cancelled if the client disconnects.
   */
  run<Envelope extends { success: true }>(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: (options: Reporting & Cancellable) => Promise<Envelope>,
  ): Promise<Envelope | FastifyReply>;
  /** Settles when all operations in progress have ended. */
  finished(): Promise<void>;
}

export function createLongOperations(): LongOperations {
  const running = new Set<Promise<unknown>>();

  const track = <Result>(work: Promise<Result>): Promise<Result> => {
    const tracked = work.finally(() => running.delete(tracked));
    running.add(tracked);
    return tracked;
  };

  return {
    async run(request, reply, operation) {
      if (!acceptsExplicitly(request.headers.accept, NDJSON)) {
        return track(runPlain(request, reply, operation));
      }
      const signal = clientSignal(reply);
      const lines = new PassThrough();
      const work = track(operation({ signal, onProgress: createProgressWriter(lines) }));
      await throwIfDenied(work);
      void track(writeLastLine(lines, request, { signal, work }));
      return reply
        .header('content-type', NDJSON)
        .header('cache-control', 'no-store')
        .header('x-accel-buffering', 'no')
        .send(lines);
    },

    async finished() {
      await Promise.allSettled(running);
    },
  };
}

/** Runs an operation that responds only with its result, until the credential of the request is revoked. */
async function runPlain<Result>(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: (options: Reporting & Cancellable) => Promise<Result>,
): Promise<Result> {
  // The connection of a visitor is closed when their link is revoked.
  if (visitorOf(request)) return operation({ signal: clientSignal(reply) });
  const appToken = accessOf(request).watchAppToken();
  if (!appToken) return operation({});
  try {
    return await operation({ signal: appToken.signal });
  } finally {
    appToken.release();
  }
}

/**
 * Throws the error of an operation that is refused at once, so that the response has its status instead of progress
 * lines.
 */
async function throwIfDenied(work: Promise<unknown>): Promise<void> {
  const ended = work.then(
    () => undefined,
    (error: unknown) => error,
  );
  const error = await Promise.race([ended, nextTurn(undefined)]);
  if (error instanceof AccessDenied || error instanceof HttpError) throw error;
}

/** Returns a function that writes progress lines at a limited rate. */
function createProgressWriter(lines: PassThrough): (progress: Progress) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (progress) => {
    const now = performance.now();
    // A client that reads slowly gets fewer lines instead of late ones.
    if (now - last < MIN_PROGRESS_INTERVAL_MS || lines.writableNeedDrain) return;
    last = now;
    lines.write(`${JSON.stringify({ progress })}\n`);
  };
}

/** Writes the last line when the operation has ended. Never rejects: an error is written as the last line. */
async function writeLastLine(
  lines: PassThrough,
  request: FastifyRequest,
  { signal, work }: { readonly signal: AbortSignal; readonly work: Promise<object> },
): Promise<void> {
  try {
    const envelope = await work;
    lines.end(`${JSON.stringify({ ...envelope, status: 200 })}\n`);
  } catch (error) {
    const problem = problemOf(error, request.id);
    if (problem.status >= 500 && !signal.aborted) request.log.error({ err: error }, 'A folder operation failed.');
    lines.end(`${JSON.stringify({ ...failureOf(problem), status: problem.status })}\n`);
  }
}

/** Returns a signal that aborts if the client disconnects before the whole response is sent. */
export function clientSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort(new Error('The client closed the connection.'));
  });
  return controller.signal;
}
