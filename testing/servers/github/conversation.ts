import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';

/** What a reply is made of, once there is enough of it; else how many bytes it takes to know more. */
export type Parse<Reply> = (received: Buffer) => { readonly reply: Reply; readonly used: number } | number;

/** A process that answers one question after the other, in their order. It starts with the first question. */
export interface Conversation {
  /** Rejects with what the process wrote on standard error when it ends before it has answered. */
  request<Reply>(question: string | Buffer, parse: Parse<Reply>): Promise<Reply>;
  /** Lets it end, and waits until it has. */
  end(): Promise<void>;
}

/** Where and how git is called. */
export interface Surroundings {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

interface Pending {
  /** Whether all of its reply has come. */
  take(received: Buffer): number | undefined;
  /** Bytes below which it need not be asked. */
  needs: number;
  reject(error: Error): void;
}

/** A process that ended is started again by the next question. */
export function converse({ folder, env }: Surroundings, ...args: readonly string[]): Conversation {
  let isEnded = false;
  let running: { readonly child: Child; readonly pending: Pending[]; readonly closed: Promise<unknown> } | undefined;

  const start = () => {
    const child = spawn('git', args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] });
    const pending: Pending[] = [];
    const closed = once(child, 'close').catch(() => {});
    const started = { child, pending, closed };
    distribute(child.stdout, pending);
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk;
    });
    // That it takes no more is told by its end.
    child.stdin.on('error', () => {});
    const finish = (reason: string) => {
      if (running === started) running = undefined;
      for (const one of pending.splice(0)) one.reject(new Error(`git ${args.join(' ')}: ${reason}`));
    };
    child.once('error', (error) => finish(error.message));
    child.once('close', () => finish(said.trim() || 'ended before it answered'));
    return started;
  };

  return {
    request(question, parse) {
      if (isEnded) return Promise.reject(new Error(`git ${args.join(' ')} is needed no more.`));
      running ??= start();
      const { child, pending } = running;
      return new Promise((resolve, reject) => {
        const one: Pending = {
          needs: 1,
          reject,
          take(received) {
            const outcome = parse(received);
            if (typeof outcome === 'number') {
              one.needs = outcome;
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

/** Gives each reply to who asked for it. Chunks are joined only when there is enough, else long replies take long. */
function distribute(output: Readable, pending: Pending[]): void {
  let chunks: Buffer[] = [];
  let length = 0;
  output.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    let [first] = pending;
    if (!first || length < first.needs) return;
    let received = chunks.length === 1 ? chunk : Buffer.concat(chunks);
    while (first && received.length >= first.needs) {
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

/** A reply of one line. */
export function parseLine(received: Buffer): { readonly reply: string; readonly used: number } | number {
  const end = received.indexOf('\n');
  return end < 0 ? received.length + 1 : { reply: received.toString('latin1', 0, end), used: end + 1 };
}

/** Runs git to its end and returns what it wrote; rejects with what it said when that is not exit 0. */
export async function runGit(
  { folder, env }: Surroundings,
  args: readonly string[],
  input: Iterable<string | Buffer> = [],
): Promise<Buffer> {
  const child = spawn('git', args, { cwd: folder, env, stdio: ['pipe', 'pipe', 'pipe'] });
  const output: Buffer[] = [];
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    said += chunk;
  });
  child.stdin.on('error', () => {});
  for (const piece of input) child.stdin.write(piece);
  child.stdin.end();
  const [code] = await once(child, 'close');
  const written = Buffer.concat(output);
  if (code !== 0) throw new Error(`git ${args.join(' ')}: exit ${String(code)}\n${said}${written.toString()}`.trim());
  return written;
}
