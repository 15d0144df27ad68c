import { UsageError } from '../testing/options.ts';
import { compare } from './compare.ts';
import { dav } from './dav.ts';
import { github } from './github.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { describeFailure } from './harness/benchmark.ts';
import { memory } from './memory.ts';
import { photos } from './photos.ts';
import { scale } from './scale.ts';
import { soak } from './soak.ts';
import { targets } from './targets.ts';
import { uploads } from './uploads.ts';
import { web } from './web.ts';
import { zip } from './zip.ts';

const benchmarks: readonly Benchmark[] = [
  targets,
  dav,
  scale,
  soak,
  memory,
  github,
  web,
  photos,
  zip,
  uploads,
  compare,
];

process.exitCode = await runBenchmark(process.argv.slice(2));

/**
 * Runs the benchmark in the first argument; `all` is the table of targets. Returns the exit code: 0, 1 for a failure, 2 for
 * an invalid command, or 130 after Ctrl-C. `--help` lists the benchmarks.
 */
async function runBenchmark([name, ...args]: readonly string[]): Promise<number> {
  if (name === undefined || isHelp(name)) return say('stdout', listBenchmarks(), 0);
  const benchmark = benchmarks.find((candidate) => candidate.name === (name === 'all' ? targets.name : name));
  if (!benchmark) return say('stderr', `bench: there is no benchmark ${name}\n\n${listBenchmarks()}`, 2);
  if (args.some(isHelp)) return say('stdout', describe(benchmark), 0);
  if (process.platform !== 'linux') return say('stderr', 'bench: figures come from /proc, which Linux alone has', 1);
  const interrupted = new AbortController();
  // Never removed: a second Ctrl-C must not interrupt the cleanup.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => interrupted.abort(new Error(`interrupted by ${signal}`)));
  }
  try {
    await benchmark.run(args, interrupted.signal);
    return 0;
  } catch (error) {
    if (interrupted.signal.aborted) return say('stderr', 'bench: interrupted; nothing was kept', 130);
    if (isMistakenCommand(error)) return say('stderr', `bench: ${error.message}\n\n${describe(benchmark)}`, 2);
    return say('stderr', `bench: ${benchmark.name} failed: ${describeFailure(error)}`, 1);
  }
}

function isHelp(argument: string): boolean {
  return ['--help', '-h', 'help'].includes(argument);
}

function listBenchmarks(): string {
  const usage = [
    'npm run bench -- all              every kind of work with its target, in one table: the same as targets',
    'npm run bench -- NAME [options]   one of these',
  ];
  return [usage.join('\n'), ...benchmarks.map(describe)].join('\n\n');
}

function describe({ name, question, options }: Benchmark): string {
  return [`  ${name}  ${question}`, ...options.map((option) => `    ${option}`)].join('\n');
}

/** Whether the error is a `UsageError`, or one of `parseArgs`, which has such a code. */
function isMistakenCommand(error: unknown): error is Error {
  if (error instanceof UsageError) return true;
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
}

function say(stream: 'stdout' | 'stderr', text: string, exitCode: number): number {
  process[stream].write(`${text}\n`);
  return exitCode;
}
