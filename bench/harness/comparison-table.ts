import type { Comparison, Measured, Sample } from './comparison.ts';
import { formatFigure, formatMegabytes, formatSpread, median } from './figures.ts';
import type { Column } from './table.ts';
import { formatTable } from './table.ts';

/** The comparison as Markdown: a heading and a table of medians, one row a contender. */
export function formatComparison(comparison: Comparison, measured: readonly Measured[]): string {
  const reference = measured.find(({ name }) => name === comparison.reference);
  const figures = figuresOf(comparison, reference).filter((figure) =>
    measured.some((row) => !['–', ''].includes(figure.cell(row))),
  );
  const columns: Column[] = [{ heading: 'program', align: 'left' }, ...figures];
  const rows = measured.map((row) => [row.name, ...figures.map((figure) => figure.cell(row))]);
  return `### ${comparison.title}\n\n${formatTable(columns, rows)}`;
}

interface Figure extends Column {
  cell(row: Measured): string;
}

function figuresOf(comparison: Comparison, reference: Measured | undefined): Figure[] {
  const right = (heading: string, cell: Figure['cell']): Figure => ({ heading, align: 'right', cell });
  const medianOf = (row: Measured, figure: (sample: Sample) => number | null | undefined) =>
    median(row.samples.map(figure).filter((value) => typeof value === 'number'));
  const cpuUnit = comparison.unit === 'seconds' ? 'ms' : 'ms a request';
  return [
    right(comparison.unit, (row) => formatFigure(medianOf(row, ({ value }) => value))),
    right('least – most', (row) => formatSpread(row.samples.map(({ value }) => value))),
    right(`speed, × ${comparison.reference}`, (row) => formatRatio(speedRatio(comparison, row, reference))),
    right('p99, ms', (row) => formatFigure(medianOf(row, ({ latencyP99 }) => latencyP99))),
    right(`CPU, ${cpuUnit}`, (row) => formatFigure(1000 * medianOf(row, ({ cpuSeconds }) => cpuSeconds))),
    right(`CPU of the bucket, ${cpuUnit}`, (row) =>
      formatFigure(1000 * medianOf(row, ({ storeCpuSeconds }) => storeCpuSeconds)),
    ),
    right('peak memory, MB', (row) => formatPeak(row.samples)),
    { heading: 'remark', align: 'left', cell: (row) => row.samples[0]?.remark ?? '' },
  ];
}

/**
 * How many times as fast as the reference: the median over the rounds of the ratio within each round, which
 * a machine that slows down between rounds does not bend.
 */
function speedRatio({ unit }: Comparison, row: Measured, reference: Measured | undefined): number {
  const ratios = row.samples.map(({ value }, round) => {
    const other = reference?.samples[round]?.value ?? Number.NaN;
    return unit === 'seconds' ? other / value : value / other;
  });
  return median(ratios);
}

function formatRatio(ratio: number): string {
  return Number.isFinite(ratio) ? ratio.toFixed(2) : '–';
}

function formatPeak(samples: readonly Sample[]): string {
  const peaks = samples.map(({ peakMemory }) => peakMemory).filter((peak) => peak !== null);
  return peaks.length === 0 ? '–' : formatMegabytes(Math.max(...peaks));
}
