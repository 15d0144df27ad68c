import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../process/until.ts';
import type { Fault } from './fault.ts';
import { type Size, startLoad } from './load.ts';
import type { Operation, Outcome } from './operations.ts';
import type { Stage } from './stage.ts';

/** What came of a fault under load. */
export interface Result {
  readonly name: string;
  /** How often it happened. */
  readonly times: number;
  /** Requests acknowledged in a second: before it, and while it lasted. */
  readonly before: number;
  readonly during: number;
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** What was said where requests were refused or broke off, and where they failed for good. */
  readonly noticed: readonly string[];
  readonly failed: readonly string[];
  /** What is not as the answers allow. */
  readonly lost: readonly string[];
  /** Seconds from the end of its cause until the last request ended that was not acknowledged; the longest of all times. */
  readonly recovered: number;
}

export interface TrialOptions extends Size {
  /** Seconds for which clients work before the fault, and for which it lasts or is repeated. */
  readonly before: number;
  readonly seconds: number;
}

/** Requests in a row that every client has to have had answered before a fault, and after it. */
const IN_A_ROW = 2;

/** Seconds in which they have to, however busy the machine is: the largest files take their time. */
const PATIENCE = 90;

let trials = 0;

/** Lets clients work, lets the fault happen while they do, ends it, and looks at what is there. */
export async function tryFault<On extends Stage>(
  stage: On,
  fault: Fault<On>,
  { before, seconds, ...size }: TrialOptions,
): Promise<Result> {
  const load = startLoad(stage, `trial ${++trials}/`, size);
  const untilServed = async () => {
    const since = performance.now();
    await until('every client is served', () => load.isServed(since, IN_A_ROW), PATIENCE);
  };
  const spans: { readonly from: number; readonly to: number }[] = [];
  const ends: number[] = [];
  const began = performance.now();
  try {
    await untilServed();
    await delay(before * 1000);
    const first = performance.now();
    do {
      const from = performance.now();
      await fault.begin(stage);
      if (fault.lasts) await delay(seconds * 1000);
      ends.push(performance.now());
      spans.push({ from, to: performance.now() });
      await fault.end(stage);
      await untilServed();
    } while (!fault.lasts && performance.now() < first + seconds * 1000);
  } finally {
    await load.stop();
  }
  for (const replica of stage.replicas) await replica.untilAtRest();
  await stage.untilClean();
  const operations = load.operations();
  return {
    name: fault.name,
    times: spans.length,
    before: rate(operations, { from: began, to: spans[0]?.from ?? began }),
    during: spans.reduce((sum, span) => sum + rate(operations, span), 0) / spans.length,
    outcomes: countOutcomes(operations),
    noticed: saidBy(operations, 'refused', 'unknown'),
    failed: saidBy(operations, 'failed'),
    lost: await load.lost(),
    recovered: longestRecovery(operations, ends),
  };
}

/** What should not have come of a fault: what was lost, what failed for good, what a replica found wrong with itself. */
export function complaints(stage: Stage, { isUnnoticed }: Pick<Fault<never>, 'isUnnoticed'>, result: Result): string[] {
  const faults = stage.replicas.flatMap((replica) => replica.faults());
  return [...result.lost, ...result.failed, ...faults, ...(isUnnoticed ? result.noticed : [])];
}

function saidBy(operations: readonly Operation[], ...outcomes: readonly Outcome[]): string[] {
  return operations
    .filter(({ outcome }) => outcomes.includes(outcome))
    .map(({ kind, outcome, said }) => `${kind} ${outcome}: ${said}`);
}

function rate(operations: readonly Operation[], { from, to }: { from: number; to: number }): number {
  const acknowledged = operations.filter(
    ({ outcome, ended }) => outcome === 'acknowledged' && ended >= from && ended < to,
  );
  return acknowledged.length / ((to - from) / 1000);
}

function countOutcomes(operations: readonly Operation[]): Record<Outcome, number> {
  const counts = { acknowledged: 0, refused: 0, unknown: 0, failed: 0 };
  for (const { outcome } of operations) counts[outcome]++;
  return counts;
}

function longestRecovery(operations: readonly Operation[], ends: readonly number[]): number {
  const lengths = ends.map((end, index) => {
    const next = ends[index + 1] ?? Number.POSITIVE_INFINITY;
    const late = operations.filter(({ outcome, ended }) => outcome !== 'acknowledged' && ended >= end && ended < next);
    return Math.max(0, ...late.map(({ ended }) => ended - end));
  });
  return Math.max(0, ...lengths) / 1000;
}
