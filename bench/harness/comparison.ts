import type { Cost } from './measure.ts';
import type { Program } from './programs.ts';
import { takeServerOutput } from './servers.ts';

/** Contenders for the same operation, each measured in every round. */
export interface Comparison {
  /** The ID for `--only`. */
  readonly id: string;
  readonly title: string;
  /** The unit of the values. */
  readonly unit: 'requests/s' | 'seconds';
  /** The name of the contender that the others are compared with. */
  readonly reference: string;
  /** The programs that it needs. */
  readonly programs: readonly Program[];
  readonly contenders: readonly Contender[];
}

/** One contender. */
export interface Contender {
  readonly name: string;
  readonly program?: Program;
  /** Measures it once, with a new process of its server. Rejects if a response is wrong. */
  measure(signal: AbortSignal): Promise<Sample>;
}

/** One measurement of one contender. */
export interface Sample {
  /** In the unit of the comparison. */
  readonly value: number;
  /** CPU time of the server or the command per request or operation; null if it was not measured. */
  readonly cpuSeconds: number | null;
  /** CPU time of its store for the same; absent if it has none, or if it can't be measured. */
  readonly storeCpuSeconds?: number;
  /** Maximum memory of the process tree of the server, in bytes; null if it was not measured. */
  readonly peakMemory: number | null;
  /** Resident memory of all processes of the server, before the operation and at its maximum, in bytes, if it is measured. */
  readonly residentMemory?: { readonly idle: number; readonly peak: number };
  /** Present if it is measured. */
  readonly idleProcess?: IdleProcess;
  /** Milliseconds; null for a single request. */
  readonly latencyP99: number | null;
  /** A remark that readers need for the comparison, such as the format of a listing. */
  readonly remark: string;
}

/** The memory of the largest idle process of a server, in bytes, and the number of its processes. */
export interface IdleProcess {
  /** As `ps` shows it (RSS), including shared pages. */
  readonly resident: number;
  /** With its share of shared pages (PSS). */
  readonly proportional: number;
  readonly processes: number;
}

/** Returns the sample of an operation that is measured in seconds. */
export function timedSample({ seconds, ...cost }: Cost, remark: string): Sample {
  return { value: seconds, ...cost, latencyP99: null, remark };
}

/** All samples of one contender, in the order of the rounds. */
export interface Measured {
  readonly name: string;
  readonly samples: readonly Sample[];
}

/**
 * Measures every contender of a comparison once per round. The order is reversed in every round, so that none always follows
 * the heaviest one.
 */
export async function compare(comparison: Comparison, rounds: number, signal: AbortSignal): Promise<Measured[]> {
  const samples = new Map<string, Sample[]>(comparison.contenders.map(({ name }) => [name, []]));
  for (let round = 1; round <= rounds; round++) {
    const order = round % 2 === 1 ? comparison.contenders : comparison.contenders.toReversed();
    for (const contender of order) {
      signal.throwIfAborted();
      process.stderr.write(`bench: ${comparison.title}, round ${round} of ${rounds}: ${contender.name}\n`);
      samples.get(contender.name)?.push(await measure(contender, signal));
    }
  }
  return Array.from(samples, ([name, taken]) => ({ name, samples: taken }));
}

/**
 * Returns the speed as a multiple of the reference in each round: a machine that slows down between rounds does not affect
 * the ratio in one. Empty if either was not measured.
 */
export function speedRatios(
  unit: Comparison['unit'],
  measured: Speeds | undefined,
  reference: Speeds | undefined,
): number[] {
  const rounds = measured?.samples ?? [];
  return rounds.flatMap(({ value }, round) => {
    const other = reference?.samples[round]?.value;
    if (other === undefined) return [];
    return [unit === 'seconds' ? other / value : value / other];
  });
}

interface Speeds {
  readonly samples: readonly Pick<Sample, 'value'>[];
}

/** Returns the programs that they need. */
export function programsOf(comparisons: readonly Comparison[]): Program[] {
  const needed = comparisons.flatMap(({ programs, contenders }) => {
    return [...programs, ...contenders.flatMap(({ program }) => program ?? [])];
  });
  return [...new Set(needed)];
}

async function measure(contender: Contender, signal: AbortSignal): Promise<Sample> {
  takeServerOutput();
  try {
    return await contender.measure(signal);
  } catch (error) {
    const output = takeServerOutput();
    const wrote = output === '' ? '' : `, whose server wrote:\n${output}`;
    throw new Error(`${contender.name} failed${wrote}`, { cause: error });
  }
}
