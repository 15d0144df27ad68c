import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** Ends with the process that started it, also if that is killed: then the pipe ends. */
const BUSY_LOOP = `
process.stdin.on('close', () => process.exit()).resume();
const spin = () => { const end = performance.now() + 100; while (performance.now() < end); setImmediate(spin); };
spin();
`;

/** Starts a busy loop for every core. They end when the returned object is disposed of, or with this process. */
export function keepCoresBusy(): Disposable {
  const loops = Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ['--eval', BUSY_LOOP], { stdio: ['pipe', 'ignore', 'inherit'] }),
  );
  return {
    [Symbol.dispose]() {
      for (const loop of loops) loop.kill();
    },
  };
}
