import { execFile } from 'node:child_process';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { parseRenderError, RenderError } from './errors.ts';

/** The exit status with which the process says that stdout holds a fault instead of a thumbnail. */
export const REFUSED = 3;

// Beside this file, and of its kind: TypeScript here, JavaScript where the service is built.
const SCRIPT = join(import.meta.dirname, `render-process-main${extname(import.meta.filename)}`);

/** Far above any thumbnail, in bytes. */
const MAX_OUTPUT = 4 * 1024 * 1024;

const run = promisify(execFile);

export interface DrawApartOptions {
  /** Milliseconds. */
  readonly timeLimit: number;
  /** Bytes that the process may have in memory, all that Node.js and libvips take included. */
  readonly memoryLimit: number;
  readonly signal?: AbortSignal;
}

/**
 * Draws a thumbnail as `drawThumbnail` does, of any format, in a separate process. The process is killed when it
 * exceeds a limit or `signal` aborts. Settles when the process is gone.
 *
 * An SVG is a program: a kilobyte of nested references and filters takes hours, or gigabytes, in one call that only the
 * end of the process stops. Other formats are decoded as a whole: a few kilobytes may hold a gigabyte. The drawing
 * process has an empty environment, so that no secret is in reach of a decoder that a malicious file takes over.
 */
export async function drawApart(image: Buffer, { timeLimit, memoryLimit, signal }: DrawApartOptions): Promise<Buffer> {
  signal?.throwIfAborted();
  const running = run(process.execPath, [SCRIPT, ...[image.length, timeLimit, memoryLimit].map(String)], {
    encoding: 'buffer',
    env: {},
    timeout: timeLimit,
    killSignal: 'SIGKILL',
    maxBuffer: MAX_OUTPUT,
    windowsHide: true,
  });
  const kill = () => running.child.kill('SIGKILL');
  signal?.addEventListener('abort', kill, { once: true });
  try {
    // A process that ends before it took everything breaks the pipe; how it ended says more.
    running.child.stdin?.on('error', () => {}).end(image);
    return (await running).stdout;
  } catch (error) {
    signal?.throwIfAborted();
    throw asRenderError(error);
  } finally {
    signal?.removeEventListener('abort', kill);
  }
}

/**
 * Tells how the process ended: killed at the time limit, by a fault that it named, by a signal from elsewhere (Linux
 * sends SIGKILL when the machine is out of memory), by a crash of a decoder, or by a bug.
 */
function asRenderError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const cause = error;
  if ('killed' in error && error.killed) return new RenderError('too-slow', 'The process was killed.', { cause });
  const { code, signal, stdout } = error as Error & { code?: unknown; signal?: unknown; stdout?: unknown };
  // A process over its memory limit names its fault, then kills itself.
  const output = Buffer.isBuffer(stdout) ? stdout.toString() : '';
  if (code === REFUSED || (signal === 'SIGKILL' && output.startsWith('{'))) return parseRenderError(output);
  if (signal === 'SIGKILL') return new RenderError('killed', 'Another process killed it.', { cause });
  if (signal) return new RenderError('damaged', 'The process crashed.', { cause });
  return error;
}
