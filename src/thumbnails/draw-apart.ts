import { execFile } from 'node:child_process';
import { extname, join } from 'node:path';
import { promisify } from 'node:util';
import { parseRenderError, RenderError } from './render-error.ts';

/** The exit status with which the process says that stdout holds a fault instead of a thumbnail. */
export const REFUSED = 3;

// Beside this file, and of its kind: TypeScript here, JavaScript where the service is built.
const SCRIPT = join(import.meta.dirname, `draw-apart-process${extname(import.meta.filename)}`);

/** Far above any thumbnail, in bytes. */
const MAX_OUTPUT = 4 * 1024 * 1024;

const run = promisify(execFile);

/**
 * Draws a thumbnail as `drawThumbnail` does, SVG too, in a process of its own that is killed after `timeLimit`
 * milliseconds or when `signal` aborts. Settles when that process is gone.
 *
 * An SVG is a program: a kilobyte of nested references and filters takes hours, in one call that nothing but the end
 * of the process stops. In this process it would keep a thread of the pool that all file access shares. The other
 * process also has an empty environment, so that no secret is near what parses a stranger's document.
 */
export async function drawApart(
  image: Buffer,
  { timeLimit, signal }: { timeLimit: number; signal?: AbortSignal },
): Promise<Buffer> {
  signal?.throwIfAborted();
  const running = run(process.execPath, [SCRIPT, String(timeLimit)], {
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

/** Reads how the process ended: killed by us, by a fault it named, by a crash of a decoder, or by a fault of ours. */
function asRenderError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const cause = error;
  if ('killed' in error && error.killed) return new RenderError('too-slow', 'The process was killed.', { cause });
  if ('code' in error && error.code === REFUSED && 'stdout' in error) return parseRenderError(String(error.stdout));
  if ('signal' in error && error.signal) return new RenderError('damaged', 'The process crashed.', { cause });
  return error;
}
