import type { Column } from '../../testing/table.ts';
import { formatTable } from '../../testing/table.ts';
import type { Comparison, Measured, Sample } from './comparison.ts';
import { speedRatios } from './comparison.ts';
import { formatFigure, formatSpread, median } from './figures.ts';
import type { Duration } from './reading.ts';

/** One kind of work, the ways to do it, and what Holdall has to reach at it. */
export interface Target {
  readonly work: string;
  readonly comparison: Comparison;
  /** Empty where the figures alone are of interest. */
  readonly criteria: readonly Criterion[];
}

/** One thing that has to be reached. */
export interface Criterion {
  /** What the limit is held against, as it follows the figure: `× rclone`, `ms`. */
  readonly unit: string;
  /** The figure has to be so much, at the least or at the most. */
  readonly limit: number;
  readonly bound: 'least' | 'most';
  /** One figure a round. */
  figures(comparison: Comparison, measured: readonly Measured[]): number[];
}

/** Targets that need the same things to be set up. */
export interface TargetGroup {
  /** What `--only` takes: the ids of their comparisons. */
  readonly ids: readonly string[];
  /** What has to be free on the disk for those chosen, in bytes. */
  bytesNeeded(chosen: readonly string[], rounds: number): number;
  /** Sets up what they need, has those chosen measured, and clears up. */
  measure(setting: Setting, measureAll: (targets: readonly Target[]) => Promise<void>): Promise<void>;
}

/** What a group of targets is measured with. */
export interface Setting {
  /** Ids of the group, one at least. */
  readonly chosen: readonly string[];
  readonly duration: Duration;
  /** Empty, for all that is written. */
  readonly folder: string;
  /** The file that starts the service. */
  readonly service: string;
  readonly signal: AbortSignal;
}

/** So many times as fast as the other contender, at least. */
export function speedOver(other: string, limit: number, ours = 'holdall', unit = `× ${other}`): Criterion {
  const named = (measured: readonly Measured[], wanted: string) => measured.find(({ name }) => name === wanted);
  return {
    unit,
    limit,
    bound: 'least',
    figures: (comparison, measured) => speedRatios(comparison.unit, named(measured, ours), named(measured, other)),
  };
}

/** A figure of one contender's samples. */
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

/** Resident memory above idle, in megabytes, at most. */
export function aboveIdle(limit: number): Criterion {
  return sampleFigure('most', limit, 'MB above idle', ({ residentMemory }) => {
    return residentMemory && megabytes(residentMemory.peak - residentMemory.idle);
  });
}

export function megabytes(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / 1e6;
}

/** Those chosen, in the order of the choice. */
export function chooseTargets(targets: readonly Target[], { chosen }: Setting): Target[] {
  return chosen.flatMap((id) => targets.filter(({ comparison }) => comparison.id === id));
}

/** What came of one criterion. */
export interface Verdict {
  readonly work: string;
  readonly target: string;
  readonly unit: string;
  /** One a round. */
  readonly figures: readonly number[];
  readonly isMet: boolean;
  /** In how many rounds, by itself, it was. */
  readonly roundsMet: number;
}

/** Decides by the median of the rounds. A criterion without figures is not met. */
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

/** A Markdown table, one line a criterion. */
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
