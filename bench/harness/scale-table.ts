import type { Column } from '../../testing/table.ts';
import { formatTable } from '../../testing/table.ts';
import { formatFigure, formatMegabytes } from './figures.ts';
import type { Outcome } from './scale-operations.ts';
import type { Calls } from './synthetic-store.ts';

/** The outcomes on one store, as a table under its heading. */
export function formatScaleStore(store: string, outcomes: readonly Outcome[]): string {
  const withCalls = outcomes.some(({ calls }) => calls);
  const columns: Column[] = [
    { heading: 'operation', align: 'left' },
    ...['files', 's', 'files/s', 'CPU s', 'peak MB'].map((heading): Column => ({ heading, align: 'right' })),
    ...(withCalls ? [{ heading: 'calls', align: 'left' } as const] : []),
  ];
  const inOrder = outcomes.toSorted(
    (left, right) => names(outcomes).indexOf(left.operation) - names(outcomes).indexOf(right.operation),
  );
  const rows = inOrder.map(({ operation, count, seconds, cpuSeconds, peakMemory, calls, failure }) => [
    failure === undefined ? operation : `${operation}: failed (${failure})`,
    count.toLocaleString('en-US'),
    formatFigure(seconds),
    formatFigure(Math.min(count, operation === 'list page 1' ? 1000 : count) / seconds),
    formatFigure(cpuSeconds ?? Number.NaN),
    formatMegabytes(peakMemory ?? Number.NaN),
    ...(withCalls ? [formatCalls(calls ?? {})] : []),
  ]);
  return `### ${store === 'bucket' ? 'A bucket' : 'A disk'}\n\n${formatTable(columns, rows)}`;
}

const names = (outcomes: readonly Outcome[]) => [...new Set(outcomes.map(({ operation }) => operation))];

function formatCalls(calls: Calls): string {
  return Object.entries(calls)
    .toSorted(([left], [right]) => left.localeCompare(right))
    .map(([name, count]) => `${name} ${count.toLocaleString('en-US')}`)
    .join(', ');
}
