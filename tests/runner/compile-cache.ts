import { spawnSync } from 'node:child_process';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Caches compiled code for later processes: the tests start hundreds of processes that load the whole service. */
export const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/compiled', import.meta.url));

const ENTRY = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Names the build whose code is cached. */
const STAMP = `${COMPILE_CACHE}/build`;

/** Starts and stops the service. A process of its own, because its module ends the process at a signal. */
const SCRIPT = fileURLToPath(new URL('start-and-stop.ts', import.meta.url));

/**
 * Fills the cache with the code of a new build. A process writes its code when it exits, but the tests kill most of
 * theirs: each start would compile the service until one of them is stopped.
 */
export function fillCompileCache(): void {
  const build = String(statSync(ENTRY).mtimeMs);
  if (readStamp() === build) return;
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE };
  const { status } = spawnSync(process.execPath, [SCRIPT], { env, stdio: 'inherit' });
  // Without the cache, the tests take longer. If the service does not start, they report why.
  if (status === 0) writeStamp(build);
}

function readStamp(): string | undefined {
  try {
    return readFileSync(STAMP, 'utf8');
  } catch {
    return undefined;
  }
}

function writeStamp(build: string): void {
  try {
    writeFileSync(STAMP, build);
  } catch {
    // A read-only checkout has no cache.
  }
}
