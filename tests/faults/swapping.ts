import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { atEnd } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';

export interface Swapping {
  /** The swapped names in the folder. */
  readonly names: readonly string[];
  /** The target of the links. */
  readonly target: string;
  /** The names of the files in the real folders. Each has the text `inside`. */
  readonly files: readonly string[];
}

/** Replaces names in a folder repeatedly by real folders and links, until it is stopped or the test ends. */
export async function startSwapping(
  t: TestContext,
  folder: string,
  { names, target, files }: Swapping,
): Promise<ChildProcess> {
  const swapper = fork(new URL('./swapper.ts', import.meta.url), [JSON.stringify([names, target, files])], {
    cwd: folder,
  });
  atEnd(t, () => stopSwapping(swapper));
  for (const kind of ['isDirectory', 'isSymbolicLink'] as const) {
    await until(`a swapped name was seen as ${kind}`, () =>
      lstatSync(join(folder, names[0] ?? ''), { throwIfNoEntry: false })?.[kind](),
    );
  }
  return swapper;
}

export async function stopSwapping(swapper: ChildProcess): Promise<void> {
  if (swapper.exitCode !== null || swapper.signalCode !== null) return;
  swapper.kill('SIGKILL');
  await once(swapper, 'exit');
}
