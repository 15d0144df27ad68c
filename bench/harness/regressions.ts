import { readFile } from 'node:fs/promises';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { Comparison, Sample } from './comparison.ts';
import { speedRatios } from './comparison.ts';
import { formatFigure, formatSpread, median } from './figures.ts';
import { UsageError } from './options.ts';
import type { Column } from './table.ts';
import { formatTable } from './table.ts';
import type { Verdict } from './target.ts';

/** Of a run: what its JSON has of each comparison. */
type Measurements = readonly (Pick<Comparison, 'id' | 'unit' | 'reference'> & {
  readonly contenders: readonly {
    readonly name: string;
    readonly samples: readonly Pick<
      Sample,
      'value' | 'cpuSeconds' | 'peakMemory' | 'latencyP99' | 'residentMemory' | 'idleProcess'
    >[];
  }[];
  readonly verdicts: readonly Pick<Verdict, 'work' | 'target' | 'isMet'>[];
})[];

const Measurement = Type.Object({
  id: Type.String(),
  unit: Type.Union([Type.Literal('requests/s'), Type.Literal('seconds')]),
  reference: Type.String(),
  contenders: Type.Array(
    Type.Object({
      name: Type.String(),
      samples: Type.Array(
        Type.Object({
          value: Type.Number(),
          cpuSeconds: Type.Union([Type.Number(), Type.Null()]),
          peakMemory: Type.Union([Type.Number(), Type.Null()]),
          latencyP99: Type.Union([Type.Number(), Type.Null()]),
          residentMemory: Type.Optional(Type.Object({ idle: Type.Number(), peak: Type.Number() })),
          idleProcess: Type.Optional(
            Type.Object({ resident: Type.Number(), proportional: Type.Number(), processes: Type.Number() }),
          ),
        }),
      ),
    }),
  ),
  verdicts: Type.Array(Type.Object({ work: Type.String(), target: Type.String(), isMet: Type.Boolean() })),
});

type Contender = Measurements[number]['contenders'][number];

/** The figures of an earlier run, of a JSON that `targets` wrote; throws `UsageError` for another. */
export async function readEarlier(file: string): Promise<Measurements> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UsageError(`${file} can't be read: ${String(error)}`);
  });
  const results: unknown = parse(text);
  const schema = Type.Object({ measurements: Type.Array(Measurement) });
  if (!Value.Check(schema, results)) throw new UsageError(`${file} is not what targets wrote`);
  return results.measurements;
}

/**
 * Which figures of Holdall changed by more than the rounds of either run differ: those of which every round was worse, or
 * every round better, than all rounds of the other run. Speeds are ratios to the peer in the same round where there is one,
 * so that two runs need not have found the machine in the same state. And which verdicts are others than they were.
 */
export function describeChanges(earlier: Measurements, later: Measurements): { report: string; worse: number } {
  const before = new Map(figuresOf(earlier).map((figure) => [figure.name, figure]));
  const changes = figuresOf(later).flatMap((figure) => {
    const other = before.get(figure.name);
    return other ? [{ ...figure, before: other.values, change: changeOf(other.values, figure) }] : [];
  });
  const worse = changes.filter(({ change }) => change === 'worse');
  const changed = [...worse, ...changes.filter(({ change }) => change === 'better')];
  const columns: Column[] = [
    { heading: 'figure', align: 'left' },
    { heading: 'before', align: 'right' },
    { heading: 'least – most', align: 'right' },
    { heading: 'now', align: 'right' },
    { heading: 'least – most', align: 'right' },
    { heading: 'change', align: 'left' },
  ];
  const rows = changed.map(({ name, before: values, values: now, change }) => {
    return [name, ...[values, now].flatMap((rounds) => [formatFigure(median(rounds)), formatSpread(rounds)]), change];
  });
  const summary = `${worse.length} of ${changes.length} figures got worse than in the earlier run by more than its rounds differ,`;
  const report = ['### Beside an earlier run', `${summary} ${changed.length - worse.length} got better.`];
  if (rows.length > 0) report.push(formatTable(columns, rows));
  return {
    report: [...report, describeVerdicts(earlier, later)].join('\n\n'),
    worse: worse.length,
  };
}

function describeVerdicts(earlier: Measurements, later: Measurements): string {
  const verdictsOf = (measurements: Measurements) =>
    measurements.flatMap(({ verdicts }) =>
      verdicts.map((verdict) => [`${verdict.work}: ${verdict.target}`, verdict] as const),
    );
  const before = new Map(verdictsOf(earlier));
  const both = verdictsOf(later).filter(([name]) => before.has(name));
  const other = both.filter(([name, { isMet }]) => before.get(name)?.isMet !== isMet);
  const lines = other.map(
    ([name, { isMet }]) => `- ${name} was ${isMet ? 'missed, and is met' : 'met, and is missed'}`,
  );
  return [`${both.length - other.length} of ${both.length} verdicts are the same.`, ...lines].join('\n');
}

/** One figure of Holdall, in every round. */
interface Figure {
  readonly name: string;
  readonly values: readonly number[];
  readonly better: 'more' | 'less';
}

function figuresOf(measurements: Measurements): Figure[] {
  return measurements.flatMap((measurement) => {
    const ours = measurement.contenders.filter(isOurs);
    return ours.flatMap((contender) => [speedOf(measurement, contender), ...costsOf(measurement.id, contender)]);
  });
}

function isOurs({ name }: Contender): boolean {
  return name.startsWith('holdall');
}

function speedOf({ id, unit, reference, contenders }: Measurements[number], contender: Contender): Figure {
  const peer = contenders.find(({ name }) => name === reference);
  const name = `${id}, ${contender.name}`;
  if (peer && !isOurs(peer)) {
    return { name: `${name}: speed, × ${reference}`, values: speedRatios(unit, contender, peer), better: 'more' };
  }
  const values = contender.samples.map(({ value }) => value);
  return { name: `${name}: ${unit}`, values, better: unit === 'seconds' ? 'less' : 'more' };
}

/** Those that were measured. */
function costsOf(id: string, { name, samples }: Contender): Figure[] {
  const costs = [
    ['CPU, ms', samples.map(({ cpuSeconds }) => cpuSeconds && cpuSeconds * 1000)],
    ['p99, ms', samples.map(({ latencyP99 }) => latencyP99)],
    ['peak memory, MB', samples.map(({ peakMemory }) => peakMemory && peakMemory / 1e6)],
    ['above idle, MB', samples.map(({ residentMemory: memory }) => memory && (memory.peak - memory.idle) / 1e6)],
    ['idle process, MB', samples.map(({ idleProcess }) => idleProcess && idleProcess.resident / 1e6)],
  ] as const;
  return costs.flatMap(([cost, rounds]) => {
    const values = rounds.filter((value) => typeof value === 'number');
    return values.length > 0 ? [{ name: `${id}, ${name}: ${cost}`, values, better: 'less' }] : [];
  });
}

function changeOf(before: readonly number[], { values, better }: Figure): 'worse' | 'better' | 'none' {
  const isHigher = Math.min(...values) > Math.max(...before);
  const isLower = Math.max(...values) < Math.min(...before);
  if (!isHigher && !isLower) return 'none';
  return isHigher === (better === 'more') ? 'better' : 'worse';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
