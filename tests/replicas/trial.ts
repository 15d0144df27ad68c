import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../testing/until.ts';
import type { Fault } from './fault.ts';
import { type Load, type Size, startLoad } from './load.ts';
import type { Operation, Outcome } from './operations.ts';
import type { Stage } from './stage.ts';

/** The outcome of a fault under load. */
export interface Result {
  readonly name: string;
  /** How often the fault occurred. */
  readonly times: number;
  /** Acknowledged requests per second before and during the fault. */
  readonly before: number;
  readonly during: number;
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** The messages of refused and interrupted requests, and those of failed ones. */
  readonly noticed: readonly string[];
  readonly failed: readonly string[];
  /** The files that contradict the acknowledged requests. */
  readonly lost: readonly string[];
  /** Seconds from the end of the cause to the end of the last request that was not acknowledged: the maximum of all times. */
  readonly recovered: number;
}

export interface TrialOptions extends Size {
  /** Seconds of load before the fault, and seconds for which the fault lasts or is repeated. */
  readonly before: number;
  readonly seconds: number;
}

/** The number of successive requests that each client must have acknowledged before and after a fault. */
const IN_A_ROW = 2;

let trials = 0;

/** Starts clients on the stage, in folders of their own. */
export function startTrialLoad(stage: Stage, size: Size): Load {
  return startLoad(stage, `trial ${++trials}/`, size);
}

/** Waits until each client has had several requests acknowledged from now on. */
export async function untilServed(load: Load): Promise<void> {
  const since = performance.now();
  await until('every client is served', () => load.isServed(since, IN_A_ROW));
}

/** The time of a fault, in milliseconds of `performance.now()`. */
interface Span {
  readonly from: number;
  /** The end of the cause. */
  readonly ended: number;
  readonly to: number;
}

/** Causes a fault once, ends it after so many seconds if it lasts, and waits until every client is served again. */
export async function causeFault<On extends Stage>(
  stage: On,
  load: Load,
  fault: Fault<On>,
  seconds: number,
): Promise<Span> {
  const from = performance.now();
  await fault.begin(stage);
  if (fault.lasts) await delay(seconds * 1000);
  // No request spans the beginning and the end of a fault that clients must not notice.
  if (fault.lasts && fault.isUnnoticed) await untilServed(load);
  const ended = performance.now();
  await fault.end(stage);
  const to = performance.now();
  await untilServed(load);
  return { from, ended, to };
}

/** Ends the load and waits until the replicas are idle and nothing temporary is left. */
export async function settle(stage: Stage, load: Load): Promise<void> {
  await load.stop();
  for (const replica of stage.replicas) await replica.untilAtRest();
  await stage.untilClean();
}

/** Runs clients, causes a fault meanwhile, ends it, and compares the files with the acknowledged requests. */
export async function tryFault<On extends Stage>(
  stage: On,
  fault: Fault<On>,
  { before, seconds, ...size }: TrialOptions,
): Promise<Result> {
  const load = startTrialLoad(stage, size);
  const spans: Span[] = [];
  const began = performance.now();
  try {
    await untilServed(load);
    await delay(before * 1000);
    const first = performance.now();
    do spans.push(await causeFault(stage, load, fault, seconds));
    while (!fault.lasts && performance.now() < first + seconds * 1000);
  } finally {
    await load.stop();
  }
  await settle(stage, load);
  const operations = load.operations();
  return {
    name: fault.name,
    times: spans.length,
    before: rate(operations, began, spans[0]?.from ?? began),
    during: spans.reduce((sum, { from, to }) => sum + rate(operations, from, to), 0) / spans.length,
    outcomes: countOutcomes(operations),
    noticed: messagesOf(operations, 'refused', 'unknown'),
    failed: messagesOf(operations, 'failed'),
    lost: await load.lost(),
    recovered: longestRecovery(operations, spans),
  };
}

/** Returns what must not result from a fault: lost files, failed requests, and errors in the log of a replica. */
export function complaints(stage: Stage, { isUnnoticed }: Pick<Fault<never>, 'isUnnoticed'>, result: Result): string[] {
  const faults = stage.replicas.flatMap((replica) => replica.faults());
  return [...result.lost, ...result.failed, ...faults, ...(isUnnoticed ? result.noticed : [])];
}

/** Returns the messages of the operations with one of these outcomes. */
function messagesOf(operations: readonly Operation[], ...outcomes: readonly Outcome[]): string[] {
  return operations
    .filter(({ outcome }) => outcomes.includes(outcome))
    .map(({ kind, outcome, detail }) => `${kind} ${outcome}: ${detail}`);
}

function rate(operations: readonly Operation[], from: number, to: number): number {
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

function longestRecovery(operations: readonly Operation[], spans: readonly Span[]): number {
  const lengths = spans.map(({ ended: end }, index) => {
    const next = spans[index + 1]?.ended ?? Number.POSITIVE_INFINITY;
    const late = operations.filter(({ outcome, ended }) => outcome !== 'acknowledged' && ended >= end && ended < next);
    return Math.max(0, ...late.map(({ ended }) => ended - end));
  });
  return Math.max(0, ...lengths) / 1000;
}
