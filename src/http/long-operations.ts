import { PassThrough } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Cancellable, Progress, Reporting } from '../domain/store.ts';
import { clientSignal } from './client-signal.ts';
import { problemOf } from './errors.ts';
import { acceptsExplicitly } from './headers.ts';

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
      const lines = new PassThrough();
      void track(writeLines(lines, request, clientSignal(reply), operation));
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

/** Never rejects: a failure is the last line. */
async function writeLines(
  lines: PassThrough,
  request: FastifyRequest,
  signal: AbortSignal,
  operation: (options: Reporting & Cancellable) => Promise<object>,
): Promise<void> {
  let last = Number.NEGATIVE_INFINITY;
  const onProgress = (progress: Progress) => {
    const now = performance.now();
    // A client that reads slowly gets fewer lines, not later ones.
    if (now - last < INTERVAL || lines.writableNeedDrain) return;
    last = now;
    lines.write(`${JSON.stringify({ progress })}\n`);
  };
  try {
    const envelope = await operation({ signal, onProgress });
    lines.end(`${JSON.stringify({ ...envelope, status: 200 })}\n`);
  } catch (error) {
    const { status, message } = problemOf(error, request.id);
    if (status >= 500 && !signal.aborted) request.log.error({ err: error }, 'A folder operation failed.');
    lines.end(`${JSON.stringify({ success: false, error: message, status })}\n`);
  }
}
