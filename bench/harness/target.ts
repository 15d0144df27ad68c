import type { Column } from '../../testing/table.ts';
import { formatTable } from '../../testing/table.ts';
import type { Comparison, Measured, Sample } from './comparison.ts';
import { speedRatios } from './comparison.ts';
import { formatFigure, formatSpread, median } from './figures.ts';
import type { Duration } from './reading.ts';

/** A comparison, with the targets of Holdall in it. */
export interface Target {
  readonly work: string;
  readonly comparison: Comparison;
  /** Empty if there is no target. */
  readonly criteria: readonly Criterion[];
}

/** One target. */
export interface Criterion {
  /** The unit after the figure: `× rclone`, `ms`. */
  readonly unit: string;
  /** The minimum or maximum of the figure. */
  readonly limit: number;
  readonly bound: 'least' | 'most';
  /** One figure per round. */
  figures(comparison: Comparison, measured: readonly Measured[]): number[];
}

/** Targets with the same setup. */
export interface TargetGroup {
  /** The IDs of their comparisons, for `--only`. */
  readonly ids: readonly string[];
  /** Returns the free disk space that the selected comparisons need, in bytes. */
  bytesNeeded(chosen: readonly string[], rounds: number): number;
  /** Sets up the selected comparisons, measures them, and cleans up. */
  measure(setting: Setting, measureAll: (targets: readonly Target[]) => Promise<void>): Promise<void>;
}

/** The parameters of a group of targets. */
export interface Setting {
  /** IDs of the group, at least one. */
  readonly chosen: readonly string[];
  readonly duration: Duration;
  /** An empty folder for all files. */
  readonly folder: string;
  /** The script of the service. */
  readonly service: string;
  readonly signal: AbortSignal;
}

/** Returns a target: the minimum speed as a multiple of another contender. */
export function speedOver(other: string, limit: number, ours = 'holdall', unit = `× ${other}`): Criterion {
  const named = (measured: readonly Measured[], wanted: string) => measured.find(({ name }) => name === wanted);
  return {
    unit,
    limit,
    bound: 'least',
    figures: (comparison, measured) => speedRatios(comparison.unit, named(measured, ours), named(measured, other)),
  };
}

/** Returns a target for a figure of one contender. */
export function sampleFigure(
  bound: Criterion['bound'],
  limit: number,
  unit: string,
  figure: (sample: Sample) => number | null | undefined,
  ours = 'holdall',
): Criterion {
  return {
    unit,
    limit,
    bound,
    figures: (_, measured) => {
      const samples = measured.find(({ name }) => name === ours)?.samples ?? [];
      return samples.map(figure).filter((value) => typeof value === 'number');
    },
  };
}

/** Returns a target: maximum resident memory above idle, in megabytes. */
export function aboveIdle(limit: number): Criterion {
  return sampleFigure('most', limit, 'MB above idle', ({ residentMemory }) => {
    return residentMemory && megabytes(residentMemory.peak - residentMemory.idle);
  });
}

export function megabytes(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / 1e6;
}

/** Returns the selected comparisons, in the order of the selection. */
export function chooseTargets(targets: readonly Target[], { chosen }: Setting): Target[] {
  return chosen.flatMap((id) => targets.filter(({ comparison }) => comparison.id === id));
}

/** The result of one criterion. */
export interface Verdict {
  readonly work: string;
  readonly target: string;
  readonly unit: string;
  /** One per round. */
  readonly figures: readonly number[];
  readonly isMet: boolean;
  /** The number of rounds that met it. */
  readonly roundsMet: number;
}

/** Compares the median of the rounds with the limit. A criterion without figures is not met. */
export function judge({ work, comparison, criteria }: Target, measured: readonly Measured[]): Verdict[] {
  return criteria.map((criterion) => {
    const { unit, limit, bound } = criterion;
    const figures = criterion.figures(comparison, measured);
    const meets = (figure: number) => (bound === 'least' ? figure >= limit : figure <= limit);
    return {
      work,
      target: `${bound === 'least' ? '≥' : '≤'} ${formatFigure(limit)} ${unit}`,
      unit,
      figures,
      isMet: meets(median(figures)),
      roundsMet: figures.filter(meets).length,
    };
  });
}

/** Formats a Markdown table with one row per criterion. */
export function formatVerdicts(verdicts: readonly Verdict[]): string {
  const columns: Column[] = [
    { heading: 'work', align: 'left' },
    { heading: 'target', align: 'left' },
    { heading: 'measured', align: 'right' },
    { heading: 'min – max', align: 'right' },
    { heading: 'verdict', align: 'left' },
  ];
  const rows = verdicts.map(({ work, target, figures, isMet, roundsMet }) => {
    const spread = figures.length === 0 ? '–' : formatSpread(figures);
    const isUnanimous = roundsMet === (isMet ? figures.length : 0);
    const verdict = figures.length === 0 ? 'not measured' : isMet ? 'met' : 'missed';
    const closeness = isUnanimous ? '' : ` (reached in ${roundsMet} of ${figures.length} rounds)`;
    return [work, target, formatFigure(median(figures)), spread, `${verdict}${closeness}`];
  });
  return formatTable(columns, rows);
}
