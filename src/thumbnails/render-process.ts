import { execFile } from 'node:child_process';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { parseRenderError, RenderError } from './errors.ts';

/** The exit status if stdout contains a serialized `RenderError` instead of a thumbnail. */
export const RENDER_ERROR_EXIT_CODE = 3;

// The script is next to this file and has the same extension: TypeScript in the source, JavaScript in the build.
const SCRIPT = join(import.meta.dirname, `render-process-main${extname(import.meta.filename)}`);

/** Maximum bytes of the output, far above any thumbnail. */
const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

const run = promisify(execFile);

export interface ChildRenderOptions {
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Maximum memory of the process in bytes, including Node.js and libvips themselves. */
  readonly memoryLimitBytes: number;
  readonly signal?: AbortSignal;
}

/**
 * Draws a thumbnail of any supported format in a child process. Kills the process if it exceeds a limit or `signal`
 * aborts. Settles when the process has exited. Throws `RenderError`.
 *
 * A kilobyte of nested references and filters in an SVG can take hours or gigabytes. Only the end of the process stops
 * such a call. Other formats are decoded as a whole: a few kilobytes can hold a gigabyte. The child process has an
 * empty environment, so that a malicious file that takes over a decoder finds no secrets.
 */
export async function drawInChildProcess(
  image: Buffer,
  { timeoutMs, memoryLimitBytes, signal }: ChildRenderOptions,
): Promise<Buffer> {
  signal?.throwIfAborted();
  const running = run(process.execPath, [SCRIPT, ...[image.length, timeoutMs, memoryLimitBytes].map(String)], {
    encoding: 'buffer',
    env: {},
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: MAX_OUTPUT_BYTES,
    windowsHide: true,
  });
  const kill = () => running.child.kill('SIGKILL');
  signal?.addEventListener('abort', kill, { once: true });
  try {
    // If the process exits before it has read the whole image, the pipe breaks. Its exit status is the better error.
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
 * Translates the exit of the process to an error: a timeout, the `RenderError` that it wrote, a kill, or a crash of a
 * decoder. Linux sends SIGKILL when memory runs out. Returns any other error, which is a bug, unchanged.
 */
function asRenderError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const cause = error;
  if ('killed' in error && error.killed) return new RenderError('too-slow', 'The process was killed.', { cause });
  const { code, signal, stdout } = error as Error & { code?: unknown; signal?: unknown; stdout?: unknown };
  // A process over its memory limit writes its error and then kills itself.
  const output = Buffer.isBuffer(stdout) ? stdout.toString() : '';
  if (code === RENDER_ERROR_EXIT_CODE || (signal === 'SIGKILL' && output.startsWith('{')))
    return parseRenderError(output);
  if (signal === 'SIGKILL') return new RenderError('killed', 'Another process killed it.', { cause });
  if (signal) return new RenderError('damaged', 'The process crashed.', { cause });
  return error;
}
