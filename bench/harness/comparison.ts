import type { Cost } from './measure.ts';
import type { Program } from './programs.ts';
import { takeServerOutput } from './servers.ts';

/** Several ways to do one thing, each measured in every round. */
export interface Comparison {
  /** What `--only` takes. */
  readonly id: string;
  readonly title: string;
  /** What a sample's value counts. */
  readonly unit: 'requests/s' | 'seconds';
  /** The name of the contender that the others are held to. */
  readonly reference: string;
  /** What it is measured with. */
  readonly programs: readonly Program[];
  readonly contenders: readonly Contender[];
}

/** One way to do it. */
export interface Contender {
  readonly name: string;
  readonly program?: Program;
  /** Does it once, with a fresh process of its server; rejects when any answer is not what it has to be. */
  measure(signal: AbortSignal): Promise<Sample>;
}

/** One measurement of one contender. */
export interface Sample {
  /** In the comparison's unit. */
  readonly value: number;
  /** CPU time of the server, or of the command, for one request or one piece of work; null where it was not measured. */
  readonly cpuSeconds: number | null;
  /** CPU time of the store behind it for the same; absent where there is none, or none that can be measured. */
  readonly storeCpuSeconds?: number;
  /** The most memory of the server's process tree, in bytes; null where it was not measured. */
  readonly peakMemory: number | null;
  /** Resident memory of all the server's processes, in bytes, before the work and at its most; where it is the question. */
  readonly residentMemory?: { readonly idle: number; readonly peak: number };
  /** Where it is the question. */
  readonly idleProcess?: IdleProcess;
  /** Milliseconds; null where there was one request. */
  readonly latencyP99: number | null;
  /** What a reader has to know to compare it, such as the format of a listing. */
  readonly remark: string;
}

/** What the largest process of a server holds at rest, in bytes, and how many processes it has. */
export interface IdleProcess {
  /** As `ps` shows it (RSS), with what it shares with others. */
  readonly resident: number;
  /** With its part of what it shares (PSS). */
  readonly proportional: number;
  readonly processes: number;
}

/** The sample of a piece of work that is measured by its seconds. */
export function timedSample({ seconds, ...cost }: Cost, remark: string): Sample {
  return { value: seconds, ...cost, latencyP99: null, remark };
}

/** All samples of one contender, in the order of the rounds. */
export interface Measured {
  readonly name: string;
  readonly samples: readonly Sample[];
}

/**
 * Measures every contender of a comparison once a round. The order is reversed every round, so that none is
 * always the one after the heaviest.
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
 * How many times as fast as the reference, round by round: a machine that slows down between rounds does not bend the
 * ratio within one. Empty where either was not measured.
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

/** All that has to be installed for them. */
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
