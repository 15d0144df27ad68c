import type { Column } from '../../testing/table.ts';
import { formatTable } from '../../testing/table.ts';
import type { Comparison, Measured, Sample } from './comparison.ts';
import { speedRatios } from './comparison.ts';
import { formatFigure, formatMegabytes, formatSpread, median } from './figures.ts';

/** Formats a comparison as Markdown: a heading, and a table of medians with one row per contender. */
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
  const cpuUnit = comparison.unit === 'seconds' ? 'ms' : 'ms per request';
  return [
    right(comparison.unit, (row) => formatFigure(medianOf(row, ({ value }) => value))),
    right('min – max', (row) => formatSpread(row.samples.map(({ value }) => value))),
    right(`speed, × ${comparison.reference}`, (row) =>
      formatRatio(median(speedRatios(comparison.unit, row, reference))),
    ),
    right('p99, ms', (row) => formatFigure(medianOf(row, ({ latencyP99 }) => latencyP99))),
    right(`CPU, ${cpuUnit}`, (row) => formatFigure(1000 * medianOf(row, ({ cpuSeconds }) => cpuSeconds))),
    right(`CPU of the bucket, ${cpuUnit}`, (row) =>
      formatFigure(1000 * medianOf(row, ({ storeCpuSeconds }) => storeCpuSeconds)),
    ),
    right('peak memory, MB', (row) => formatMegabytes(medianOf(row, ({ peakMemory }) => peakMemory))),
    right('above idle, MB', (row) =>
      formatMegabytes(medianOf(row, ({ residentMemory: memory }) => memory && memory.peak - memory.idle)),
    ),
    right('idle process: RSS, MB', (row) => formatMegabytes(medianOf(row, ({ idleProcess }) => idleProcess?.resident))),
    right('PSS, MB', (row) => formatMegabytes(medianOf(row, ({ idleProcess }) => idleProcess?.proportional))),
    right('processes', (row) => String(row.samples[0]?.idleProcess?.processes ?? '–')),
    { heading: 'remark', align: 'left', cell: (row) => row.samples[0]?.remark ?? '' },
  ];
}

function formatRatio(ratio: number): string {
  return Number.isFinite(ratio) ? ratio.toFixed(2) : '–';
}
