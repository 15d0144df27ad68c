import { spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/** A resource that must not outlive this process: a process group by its id, or a folder by its path. */
export interface Resource {
  readonly kind: 'group' | 'folder';
  readonly name: string;
}

/**
 * Kills a process group or removes a folder when this process ends, even by SIGKILL. Call the returned function after
 * a regular cleanup. A server that keeps running would distort later measurements.
 */
export function cleanUpAtExit(resource: Resource): () => void {
  const pipe = openPipe();
  pipe.write(`${JSON.stringify({ held: true, ...resource })}\n`);
  return () => {
    pipe.write(`${JSON.stringify({ held: false, ...resource })}\n`);
  };
}

let opened: Socket | undefined;

/** Opens a pipe to a process that waits for its end. The kernel closes the pipe when this process ends. */
function openPipe(): Socket {
  if (opened) return opened;
  const child = spawn(process.execPath, [fileURLToPath(new URL('./exit-cleanup-process.ts', import.meta.url))], {
    stdio: ['pipe', 'ignore', 'inherit'],
    // In another process group, so that Ctrl-C does not reach it.
    detached: true,
  });
  if (!(child.stdin instanceof Socket)) throw new Error('The cleanup process has no pipe.');
  child.unref();
  child.stdin.unref();
  opened = child.stdin;
  return opened;
}
