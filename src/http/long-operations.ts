import { PassThrough } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AccessDenied } from '../access/guard.ts';
import type { Cancellable, Progress, Reporting } from '../model/store.ts';
import { acceptsExplicitly } from './accept.ts';
import { problemOf } from './errors.ts';

const NDJSON = 'application/x-ndjson';

/** Milliseconds between two lines of progress: ten a second are smooth to look at and nothing to send. */
const INTERVAL = 100;

/** Runs the long operations on folders, and answers in the way that the request asks for. */
export interface LongOperations {
  /**
   * Answers with what `operation` gives when it is done, whether the client waits or not. A client that accepts
   * `application/x-ndjson` is answered at once, with lines of progress and the same envelope as the last one; the
   * operation is cancelled when it leaves.
   */
  answer<Envelope extends { success: true }>(
    request: FastifyRequest,
    reply: FastifyReply,
    operation: (options: Reporting & Cancellable) => Promise<Envelope>,
  ): Promise<Envelope | FastifyReply>;
  /** Settles when all that runs has ended. */
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
    async answer(request, reply, operation) {
      if (!acceptsExplicitly(request.headers.accept, NDJSON)) return track(operation({}));
      const signal = clientSignal(reply);
      const lines = new PassThrough();
      const work = track(operation({ signal, onProgress: progressTo(lines) }));
      await throwIfRefused(work);
      void track(writeEnd(lines, request, { signal, work }));
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

/** Throws what was found at once to be no request that this asker may send: it has no progress to tell of. */
async function throwIfRefused(work: Promise<unknown>): Promise<void> {
  const ended = work.then(
    () => undefined,
    (error: unknown) => error,
  );
  const error = await Promise.race([ended, nextTurn(undefined)]);
  if (error instanceof AccessDenied) throw error;
}

/** Writes a line of progress from time to time. */
function progressTo(lines: PassThrough): (progress: Progress) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (progress) => {
    const now = performance.now();
    // A client that reads slowly gets fewer lines, not later ones.
    if (now - last < INTERVAL || lines.writableNeedDrain) return;
    last = now;
    lines.write(`${JSON.stringify({ progress })}\n`);
  };
}

/** Writes the last line when the work has ended. Never rejects: a failure is that line. */
async function writeEnd(
  lines: PassThrough,
  request: FastifyRequest,
  { signal, work }: { readonly signal: AbortSignal; readonly work: Promise<object> },
): Promise<void> {
  try {
    const envelope = await work;
    lines.end(`${JSON.stringify({ ...envelope, status: 200 })}\n`);
  } catch (error) {
    const { status, message } = problemOf(error, request.id);
    if (status >= 500 && !signal.aborted) request.log.error({ err: error }, 'A folder operation failed.');
    lines.end(`${JSON.stringify({ success: false, error: message, status })}\n`);
  }
}

/** Aborted when the client leaves before its answer was sent whole. */
export function clientSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort(new Error('The client closed the connection.'));
  });
  return controller.signal;
}
