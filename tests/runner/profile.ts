import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import type { TestsStream } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { CpuRecord } from './record-cpu.ts';

/** The number of files and of tests that the report shows. */
const SHOWN = 30;

const RECORD_CPU = fileURLToPath(new URL('record-cpu.ts', import.meta.url));

/** Collects where the time of a run goes, for `--profile`. */
export class Profile {
  /** Options of Node.js for the test processes. */
  readonly options: readonly string[] = [`--import=${RECORD_CPU}`];
  /** Environment variables for the test processes. */
  readonly environment: Readonly<Record<string, string>>;
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdall-profile-'));
  readonly #recording = join(this.#folder, 'cpu');
  readonly #wall = new Map<string, number>();
  readonly #tests: { seconds: number; name: string }[] = [];

  constructor() {
    writeFileSync(this.#recording, '');
    this.environment = { TEST_PROFILE: this.#recording };
  }

  observe(stream: TestsStream): void {
    stream.on('test:summary', ({ file, duration_ms: ms }) => {
      if (file !== undefined) this.#wall.set(file, ms / 1000);
    });
    for (const result of ['test:pass', 'test:fail'] as const) {
      stream.on(result, ({ details, file, name }) => {
        if (details.type === 'suite' || file === undefined) return;
        this.#tests.push({ seconds: details.duration_ms / 1000, name: `${shown(file)}: ${name}` });
      });
    }
  }

  /** Returns the slowest files and tests as text, and removes the recording. */
  report(): string {
    const cpu = this.#cpuOfFiles();
    rmSync(this.#folder, { recursive: true });
    const files = Array.from(this.#wall, ([file, seconds]) => ({ file, seconds, cpu: cpu.get(file) ?? 0 }));
    const total = files.reduce((sum, { cpu: each }) => sum + each, 0);
    return [
      '',
      `Slowest files, by CPU time (${files.length} files, ${total.toFixed(0)} s of CPU time)`,
      '  CPU s  wall s  file',
      ...slowest(files, (each) => each.cpu).map(
        ({ file, seconds, cpu: used }) => `${column(used)} ${column(seconds)}  ${shown(file)}`,
      ),
      '',
      'Slowest tests',
      ' wall s  test',
      ...slowest(this.#tests, (each) => each.seconds).map(({ seconds, name }) => `${column(seconds)}  ${name}`),
      '',
    ].join('\n');
  }

  #cpuOfFiles(): Map<string, number> {
    const cpu = new Map<string, number>();
    for (const line of readFileSync(this.#recording, 'utf8').split('\n').filter(Boolean)) {
      const { file, seconds }: CpuRecord = JSON.parse(line);
      cpu.set(file, (cpu.get(file) ?? 0) + seconds);
    }
    return cpu;
  }
}

function slowest<Item>(items: readonly Item[], seconds: (item: Item) => number): Item[] {
  return items.toSorted((a, b) => seconds(b) - seconds(a)).slice(0, SHOWN);
}

const column = (seconds: number) => seconds.toFixed(1).padStart(7);

const shown = (file: string) => relative(process.cwd(), file);
