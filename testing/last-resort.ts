import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/** What must not outlive this process: a process group by its id, or a folder by its path. */
export interface Belonging {
  readonly kind: 'group' | 'folder';
  readonly name: string;
}

/**
 * Has a process group killed, or a folder removed, when this process ends without having done so itself, however
 * it ends: SIGKILL too. Call what is returned once it is done. A server left over would bend every later figure.
 */
export function keepUntilEnd(belonging: Belonging): () => void {
  const pipe = openPipe();
  pipe.write(`${JSON.stringify({ held: true, ...belonging })}\n`);
  return () => {
    pipe.write(`${JSON.stringify({ held: false, ...belonging })}\n`);
  };
}

let opened: Socket | undefined;

/** To a process whose only task is to wait for the end of this pipe, which the kernel brings about. */
function openPipe(): Socket {
  if (opened) return opened;
  const child = spawn(process.execPath, [fileURLToPath(new URL('./last-resort-process.ts', import.meta.url))], {
    stdio: ['pipe', 'ignore', 'inherit'],
    // Out of our process group, so that Ctrl-C does not reach it.
    detached: true,
  });
  if (!(child.stdin instanceof Socket)) throw new Error('no pipe to the process that clears up');
  child.unref();
  child.stdin.unref();
  opened = child.stdin;
  return opened;
}
