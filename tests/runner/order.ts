import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';
import type { TestsStream } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** The durations of the last runs on this machine. */
const DURATIONS = `${ROOT}node_modules/.cache/holdall/test-durations.json`;

/** Folders whose tests run in one process: they start nothing, and have no hooks or mocks outside of `describe`. */
const SHARED_PROCESS = ['tests/domain/', 'tests/config/', 'tests/layers/', 'tests/properties/'];

const TOGETHER = fileURLToPath(new URL('together.ts', import.meta.url));

/** Returns the files with the longest first, so that no long file runs alone at the end. */
export function longestFirst(files: readonly string[]): string[] {
  const durations = readDurations();
  // Unknown durations come from the size: tests take about 20 ms for each line.
  const seconds = (file: string) => durations[shown(file)] ?? statSync(file).size / 2000;
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

/** Remembers the durations of the files that run, for `longestFirst`. */
export function recordDurations(stream: TestsStream): void {
  const measured: Record<string, number> = {};
  stream.on('test:summary', ({ file, duration_ms: ms }) => {
    if (file === undefined) writeDurations({ ...readDurations(), ...measured });
    else if (file.startsWith(ROOT)) measured[shown(file)] = Math.round(ms) / 1000;
  });
}

function readDurations(): Readonly<Record<string, number>> {
  try {
    return JSON.parse(readFileSync(DURATIONS, 'utf8'));
  } catch {
    return {};
  }
}

function writeDurations(durations: Readonly<Record<string, number>>): void {
  try {
    mkdirSync(dirname(DURATIONS), { recursive: true });
    writeFileSync(DURATIONS, JSON.stringify(durations));
  } catch {
    // The order is a matter of speed only, and a read-only checkout keeps none.
  }
}

const shown = (file: string) => relative(ROOT, file);
