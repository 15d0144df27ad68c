import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import type { TestsStream } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Seconds that each file took, written by `npm test -- --save-durations`. */
const DURATIONS = fileURLToPath(new URL('durations.json', import.meta.url));

/** Returns the files with the longest first, so that no long file runs alone at the end. */
export function longestFirst(files: readonly string[]): string[] {
  const secondsOf = recordedSeconds();
  return files.toSorted((a, b) => (secondsOf(b) ?? 0) - (secondsOf(a) ?? 0));
}

/** Returns a function that returns the recorded duration of a test file, or undefined for new and short files. */
export function recordedSeconds(): (file: string) => number | undefined {
  const durations = readDurations();
  return (file) => durations[shown(file)];
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
