import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { openToGit } from './loose-objects.ts';

/** Parses a reply. Returns it with its length, or the number of bytes that are needed to continue. */
export type Parse<Reply> = (received: Buffer) => { readonly reply: Reply; readonly used: number } | number;

/** A process that replies to requests in their order. It starts with the first request. */
export interface GitProcess {
  /** Rejects with the process's standard error if the process ends before it has replied. */
  request<Reply>(question: string | Buffer, parse: Parse<Reply>): Promise<Reply>;
  /** Closes the input of the process, and waits for its end. */
  end(): Promise<void>;
}

/** The folder and the environment in which git runs. */
export interface GitContext {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

interface Pending {
  /** Consumes the reply if it is complete. Returns its length. */
  take(received: Buffer): number | undefined;
  /** The number of bytes from which `take` can succeed. */
  minBytes: number;
  reject(error: Error): void;
}

/** Starts the process again at the next request if it has ended. */
export function createGitProcess({ folder, env }: GitContext, ...args: readonly string[]): GitProcess {
  let isEnded = false;
  let running: { readonly child: Child; readonly pending: Pending[]; readonly closed: Promise<unknown> } | undefined;

  const start = () => {
    const child = spawn('git', args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] });
    const pending: Pending[] = [];
    const closed = once(child, 'close').catch(() => {});
    const started = { child, pending, closed };
    distributeReplies(child.stdout, pending);
    let errorOutput = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      errorOutput += chunk;
    });
    // A failed write is reported when the process ends.
    child.stdin.on('error', () => {});
    const finish = (reason: string) => {
      if (running === started) running = undefined;
      for (const one of pending.splice(0)) one.reject(new Error(`git ${args.join(' ')}: ${reason}`));
    };
    child.once('error', (error) => finish(error.message));
    child.once('close', () => finish(errorOutput.trim() || 'ended before it replied'));
    return started;
  };

  return {
    request(question, parse) {
      if (isEnded) return Promise.reject(new Error(`git ${args.join(' ')} is already closed.`));
      running ??= start();
      const { child, pending } = running;
      return new Promise((resolve, reject) => {
        const one: Pending = {
          minBytes: 1,
          reject,
          take(received) {
            const outcome = parse(received);
            if (typeof outcome === 'number') {
              one.minBytes = outcome;
              return undefined;
            }
            resolve(outcome.reply);
            return outcome.used;
          },
        };
        pending.push(one);
        child.stdin.write(question);
      });
    },
    async end() {
      isEnded = true;
      if (!running) return;
      const { child, closed } = running;
      child.stdin.end();
      await closed;
    },
  };
}

/**
 * Passes each reply to its request. Joins chunks only when there are enough bytes, because joining them for each chunk
 * takes quadratic time.
 */
function distributeReplies(output: Readable, pending: Pending[]): void {
  let chunks: Buffer[] = [];
  let length = 0;
  output.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    let [first] = pending;
    if (!first || length < first.minBytes) return;
    let received = chunks.length === 1 ? chunk : Buffer.concat(chunks);
    while (first && received.length >= first.minBytes) {
      const used = first.take(received);
      if (used === undefined) break;
      received = received.subarray(used);
      pending.shift();
      [first] = pending;
    }
    chunks = received.length > 0 ? [received] : [];
    length = received.length;
  });
}

/** Parses a reply of one line. */
export function parseLine(received: Buffer): { readonly reply: string; readonly used: number } | number {
  const end = received.indexOf('\n');
  return end < 0 ? received.length + 1 : { reply: received.toString('latin1', 0, end), used: end + 1 };
}

/** Runs git until it exits, and returns its output. Rejects with its standard error unless it exits with 0. */
export async function runGit(
  { folder, env }: GitContext,
  args: readonly string[],
  input: Iterable<string | Buffer> = [],
): Promise<Buffer> {
  const close = openToGit(folder);
  const child = spawn('git', args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] });
  const output: Buffer[] = [];
  let errorOutput = '';
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errorOutput += chunk;
  });
  child.stdin.on('error', () => {});
  for (const piece of input) child.stdin.write(piece);
  child.stdin.end();
  const [code] = await once(child, 'close').finally(close);
  const written = Buffer.concat(output);
  if (code !== 0)
    throw new Error(`git ${args.join(' ')}: exit ${String(code)}\n${errorOutput}${written.toString()}`.trim());
  return written;
}
