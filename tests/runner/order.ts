import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { TestsStream } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Seconds that each file took, written by `npm test -- --save-durations`. */
const DURATIONS = fileURLToPath(new URL('durations.json', import.meta.url));

/** Folders whose tests run in one process: they start nothing, and have no hooks or mocks outside of `describe`. */
const SHARED_PROCESS = ['tests/domain/', 'tests/config/', 'tests/layers/', 'tests/properties/'];

const TOGETHER = fileURLToPath(new URL('together.ts', import.meta.url));

/** Returns the files with the longest first, so that no long file runs alone at the end. */
export function longestFirst(files: readonly string[]): string[] {
  const durations = readDurations();
  const seconds = (file: string) => durations[shown(file)] ?? 0;
  return files.toSorted((a, b) => seconds(b) - seconds(a));
}

/** Replaces the files that share a process by the file that imports them. */
export function shareProcess(files: readonly string[]): {
  readonly files: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
} {
  const isShared = (file: string) => SHARED_PROCESS.some((folder) => shown(file).startsWith(folder));
  const shared = files.filter(isShared);
  if (shared.length < 2) return { files, environment: {} };
  return {
    // First, because it has many tests.
    files: [TOGETHER, ...files.filter((file) => !isShared(file))],
    environment: { TEST_FILES: JSON.stringify(shared) },
  };
}

/** Writes the durations of the files that run into the file that `longestFirst` reads. */
export function saveDurations(stream: TestsStream): void {
  const measured: Record<string, number> = {};
  stream.on('test:summary', ({ file, duration_ms: ms }) => {
    if (file !== undefined) measured[shown(file)] = Math.round(ms / 1000);
    else writeFileSync(DURATIONS, `${JSON.stringify(sorted({ ...readDurations(), ...measured }), undefined, 2)}\n`);
  });
}

/** Returns the durations of existing files that took a second or more, with the longest first. */
function sorted(durations: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  const known = Object.entries(durations).filter(([file, seconds]) => seconds > 0 && existsSync(ROOT + file));
  return Object.fromEntries(known.toSorted(([, a], [, b]) => b - a));
}

function readDurations(): Readonly<Record<string, number>> {
  return JSON.parse(readFileSync(DURATIONS, 'utf8'));
}

const shown = (file: string) => relative(ROOT, file);
