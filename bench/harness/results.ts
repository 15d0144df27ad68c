import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatFigure } from './figures.ts';
import type { Machine } from './machine.ts';

/** The results of a benchmark. */
export interface Results {
  readonly name: string;
  readonly machine: Machine;
  /** Versions by program. */
  readonly versions: Readonly<Record<string, string>>;
  /** The tables and their explanations, in Markdown. */
  readonly report: string;
  /** Every figure behind the report. */
  readonly measurements: unknown;
}

/** Prints the report, and writes it to `bench/results/NAME.md`, with all figures in `bench/results/NAME.json`. */
export async function publish(results: Results): Promise<void> {
  const markdown = `${results.report.trim()}\n\n${describe(results)}\n`;
  // Printed before a failure is possible, because a run takes minutes.
  process.stdout.write(`\n${markdown}`);
  const folder = join(import.meta.dirname, '..', 'results');
  await mkdir(folder, { recursive: true });
  const { report: _, ...kept } = results;
  await writeFile(join(folder, `${results.name}.json`), `${JSON.stringify(kept, undefined, 2)}\n`);
  await writeFile(join(folder, `${results.name}.md`), markdown);
  process.stderr.write(`\nbench: written to ${join(folder, results.name)}.md and .json\n`);
}

function describe({ machine, versions }: Results): string {
  const peers = Object.entries(versions).map(([program, version]) => `${program} ${version}`);
  return [
    `Machine: ${machine.processor}, ${machine.cores} cores, ${formatFigure(machine.memory / 2 ** 30)} GiB of memory`,
    `Linux ${machine.kernel}, files on ${machine.fileSystem}`,
    `Node ${machine.node}, Holdall at ${machine.commit}`,
    ...(peers.length > 0 ? [peers.join(', ')] : []),
    `load average before ${machine.loadBefore.toFixed(2)}`,
    machine.date,
  ].join(' · ');
}
