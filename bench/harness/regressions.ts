import type { Column } from '../../testing/table.ts';
import { formatTable } from '../../testing/table.ts';
import { speedRatios } from './comparison.ts';
import type { Measurement } from './earlier-run.ts';
import { formatFigure, formatSpread, median } from './figures.ts';

/** The differences of two runs. */
interface Changes {
  /** In Markdown. */
  readonly report: string;
  /** The number of compared figures and verdicts. */
  readonly compared: number;
  /** Descriptions of what is worse or missing; empty if nothing is. */
  readonly problems: readonly string[];
}

/**
 * Returns the figures of Holdall that changed by more than the spread of the rounds: every round was worse, or every round
 * was better, than all rounds of the other run. Speeds are ratios to the peer in the same round if there is one, so that the
 * state of the machine matters less. Also returns changed verdicts, and what only one run has. Figures of a single round are
 * not compared.
 */
export function describeChanges(earlier: readonly Measurement[], later: readonly Measurement[]): Changes {
  const figures = compareFigures(figuresOf(earlier), figuresOf(later));
  const verdicts = compareVerdicts(verdictsOf(earlier), verdictsOf(later));
  const parts = [figures, verdicts];
  const earlierOnly = parts.flatMap((part) => part.earlierOnly);
  const laterOnly = parts.flatMap((part) => part.laterOnly);
  const report = [
    '### Compared with an earlier run',
    ...parts.map((part) => part.report),
    ...(earlierOnly.length > 0 ? [`In the earlier run only:\n${formatList(earlierOnly)}`] : []),
    ...(laterOnly.length > 0 ? [`In the later run only:\n${formatList(laterOnly)}`] : []),
  ];
  return {
    report: report.join('\n\n'),
    compared: figures.compared + verdicts.compared,
    problems: [
      ...(figures.worse > 0 ? [`${count(figures.worse, 'figure')} got worse`] : []),
      ...(verdicts.worse > 0 ? [`${count(verdicts.worse, 'verdict')} went from met to missed`] : []),
      ...(earlierOnly.length > 0 ? [`not in the later run: ${earlierOnly.join('; ')}`] : []),
    ],
  };
}

/** The differences of the figures or verdicts of two runs. */
interface Part {
  readonly report: string;
  readonly compared: number;
  readonly worse: number;
  /** Names. */
  readonly earlierOnly: readonly string[];
  readonly laterOnly: readonly string[];
}

function compareFigures(earlier: readonly Figure[], later: readonly Figure[]): Part {
  const { both, undecided, ...alone } = match(earlier, later);
  const changes = both.map(([before, now]) => ({ before, now, change: changeOf(before.values, now) }));
  const worse = changes.filter(({ change }) => change === 'worse');
  const better = changes.filter(({ change }) => change === 'better');
  const columns: Column[] = [
    { heading: 'figure', align: 'left' },
    { heading: 'before', align: 'right' },
    { heading: 'min – max', align: 'right' },
    { heading: 'now', align: 'right' },
    { heading: 'min – max', align: 'right' },
    { heading: 'change', align: 'left' },
  ];
  const rows = [...worse, ...better].map(({ before, now, change }) => {
    const rounds = [before.values, now.values];
    return [now.name, ...rounds.flatMap((values) => [formatFigure(median(values)), formatSpread(values)]), change];
  });
  const summary = [
    `${worse.length} of ${both.length} figures got worse than in the earlier run by more than its rounds differ,`,
    `${better.length} got better.`,
    ...(undecided > 0 ? [`${count(undecided, 'figure')} had a single round, which decides nothing.`] : []),
  ];
  const report = [summary.join(' '), ...(rows.length > 0 ? [formatTable(columns, rows)] : [])].join('\n\n');
  return { ...alone, report, compared: both.length, worse: worse.length };
}

function compareVerdicts(earlier: readonly Verdict[], later: readonly Verdict[]): Part {
  const { both, undecided: _, ...alone } = match(earlier, later);
  const turned = both.filter(([before, now]) => before.isMet !== now.isMet);
  const lines = turned.map(([{ name, isMet }]) => `${name} was ${isMet ? 'met, and is missed' : 'missed, and is met'}`);
  const summary = `${both.length - turned.length} of ${both.length} verdicts are the same.`;
  return {
    ...alone,
    report: [summary, ...(lines.length > 0 ? [formatList(lines)] : [])].join('\n'),
    compared: both.length,
    worse: turned.filter(([before]) => before.isMet).length,
  };
}

/** A figure or verdict of a run. */
interface Finding {
  readonly name: string;
  /** Its name, if the run has no other one of this kind. */
  readonly subject: string;
  /** One per round, at least one. */
  readonly values: readonly unknown[];
}

interface Matched<Found extends Finding> {
  /** The earlier and the later one of the same name, each with several rounds. */
  readonly both: readonly (readonly [Found, Found])[];
  /** The number of those in both runs, but with a single round in one of them. */
  readonly undecided: number;
  readonly earlierOnly: readonly string[];
  readonly laterOnly: readonly string[];
}

function match<Found extends Finding>(earlier: readonly Found[], later: readonly Found[]): Matched<Found> {
  const pairs = earlier.flatMap((before) =>
    later.filter(({ name }) => name === before.name).map((now) => [before, now] as const),
  );
  const both = pairs.filter((pair) => pair.every(({ values }) => values.length > 1));
  return {
    both,
    undecided: pairs.length - both.length,
    earlierOnly: namesMissing(earlier, later),
    laterOnly: namesMissing(later, earlier),
  };
}

function namesMissing(findings: readonly Finding[], others: readonly Finding[]): string[] {
  const missing = findings.filter(({ name }) => !others.some((other) => other.name === name));
  const names = missing.map(({ name, subject }) =>
    others.some((other) => other.subject === subject) ? name : subject,
  );
  return [...new Set(names)];
}

function formatList(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join('\n');
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`;
}

interface Verdict extends Finding {
  readonly isMet: boolean;
}

/** Returns those with measurements. */
function verdictsOf(measurements: readonly Measurement[]): Verdict[] {
  const verdicts = measurements.flatMap((measurement) => measurement.verdicts);
  return verdicts
    .filter(({ figures }) => figures.length > 0)
    .map(({ work, target, figures, isMet }) => {
      const name = `${work}: ${target}`;
      return { name, subject: name, values: figures, isMet };
    });
}

/** One figure of Holdall, in every round. */
interface Figure extends Finding {
  readonly values: readonly number[];
  readonly better: 'more' | 'less';
}

/** Returns those that were measured. */
function figuresOf(measurements: readonly Measurement[]): Figure[] {
  return measurements.flatMap((measurement) => {
    const ours = measurement.contenders.filter(isOurs);
    const figures = ours.flatMap((contender) => [
      speedOf(measurement, contender),
      ...costsOf(measurement.id, contender),
    ]);
    return figures.filter(({ values }) => values.length > 0);
  });
}

type Contender = Measurement['contenders'][number];

function isOurs({ name }: Contender): boolean {
  return name.startsWith('holdall');
}

function speedOf({ id, unit, reference, contenders }: Measurement, contender: Contender): Figure {
  const peer = contenders.find(({ name }) => name === reference);
  const subject = `${id}, ${contender.name}`;
  if (peer && !isOurs(peer)) {
    const values = speedRatios(unit, contender, peer);
    return { name: `${subject}: speed, × ${reference}`, subject, values, better: 'more' };
  }
  const values = contender.samples.map(({ value }) => value);
  return { name: `${subject}: ${unit}`, subject, values, better: unit === 'seconds' ? 'less' : 'more' };
}

function costsOf(id: string, { name, samples }: Contender): Figure[] {
  const subject = `${id}, ${name}`;
  const costs = [
    ['CPU, ms', samples.map(({ cpuSeconds }) => cpuSeconds && cpuSeconds * 1000)],
    ['p99, ms', samples.map(({ latencyP99 }) => latencyP99)],
    ['peak memory, MB', samples.map(({ peakMemory }) => peakMemory && peakMemory / 1e6)],
    ['above idle, MB', samples.map(({ residentMemory: memory }) => memory && (memory.peak - memory.idle) / 1e6)],
    ['idle process, MB', samples.map(({ idleProcess }) => idleProcess && idleProcess.resident / 1e6)],
  ] as const;
  return costs.map(([cost, rounds]) => {
    const values = rounds.filter((value) => typeof value === 'number');
    return { name: `${subject}: ${cost}`, subject, values, better: 'less' };
  });
}

function changeOf(before: readonly number[], { values, better }: Figure): 'worse' | 'better' | 'none' {
  const isHigher = Math.min(...values) > Math.max(...before);
  const isLower = Math.max(...values) < Math.min(...before);
  if (!isHigher && !isLower) return 'none';
  return isHigher === (better === 'more') ? 'better' : 'worse';
}
