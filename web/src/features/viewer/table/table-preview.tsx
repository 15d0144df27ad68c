import type { RefObject } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { useFullLanguage } from '../../../platform/text/language.ts';
import { Icon } from '../../../ui/icon.tsx';
import { useLoaded } from '../../../ui/loading.ts';
import { uniformRows, useVirtualRows } from '../../../ui/virtual-rows.ts';
import { Loading, NotLoadedNotice } from '../notices.tsx';
import { showBidiControls } from '../text/bidi-controls.tsx';
import { TextFallback, WholeText, WithSource } from '../text/rendered-text.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import { runJob, WorkerNotLoaded } from '../worker/run-job.ts';
import type { ParsedTable } from './parse-table.ts';
import './table-preview.css';

/** The number of characters above which a table has no view of its source, which renders all lines. */
const MAX_SOURCE_LENGTH = 2_000_000;

/** Renders a file of separated values as a table. */
export function TablePreview({ entry, viewer }: PreviewProps) {
  return <WholeText entry={entry}>{(source) => <Parsed {...{ entry, viewer, source }} />}</WholeText>;
}

function Parsed({ entry, viewer, source }: PreviewProps & { source: string }) {
  const { text } = useFullLanguage();
  const { name } = entry;
  const parsed = useLoaded(
    (signal) => runJob({ kind: 'table', text: source, isTabbed: /\.tsv$/i.test(name) }, signal),
    [source, name],
  );
  if (parsed.state === 'loading') return <Loading />;
  if (parsed.state === 'failed' && parsed.error instanceof WorkerNotLoaded) {
    return <NotLoadedNotice retry={parsed.retry} />;
  }
  if (parsed.state === 'failed') return <TextFallback {...{ entry, viewer }} reason={text.previews.tableFailed} />;
  if (source.length > MAX_SOURCE_LENGTH) return <Table name={name} table={parsed.value} />;
  return (
    <WithSource name={name} text={source} viewer={viewer}>
      <Table name={name} table={parsed.value} />
    </WithSource>
  );
}

/** The column that determines the order of the rows. */
interface SortedColumn {
  readonly column: number;
  readonly isDescending: boolean;
}

/** Returns the order after the user presses the header of a column: ascending, descending, as in the file. */
function nextOrder(sorted: SortedColumn | undefined, column: number): SortedColumn | undefined {
  if (sorted?.column !== column) return { column, isDescending: false };
  return sorted.isDescending ? undefined : { column, isDescending: true };
}

/** The number of rows, and of cells, above which all rows have one height, and only the visible ones are rendered. */
const MAX_RENDERED_ROWS = 1_000;
const MAX_RENDERED_CELLS = 5_000;

/** Shows a table with a fixed header, whose columns sort the rows. */
export function Table({ name, table }: { name: string; table: ParsedTable }) {
  const { columns, rows, rowCount } = table;
  const { text, direction, tag } = useFullLanguage();
  const [sorted, setSorted] = useState<SortedColumn>();
  const ordering = useLoaded(
    async (signal) => {
      if (!sorted) return undefined;
      const { column, isDescending } = sorted;
      const cells = rows.map((row) => row[column] ?? '');
      const isNumeric = columns[column]?.isNumeric ?? false;
      return runJob({ kind: 'sort', cells, isNumeric, isDescending, locale: tag }, signal);
    },
    [rows, sorted, tag],
  );
  // While the rows are sorted, and if that takes too long, they keep their order.
  const last = useRef<Uint32Array | undefined>(undefined);
  if (ordering.state === 'ready') last.current = ordering.value;
  const isSorting = ordering.state === 'loading' && sorted !== undefined;
  const isVirtual = rows.length > MAX_RENDERED_ROWS || rows.length * columns.length > MAX_RENDERED_CELLS;
  const scroller = useRef<HTMLDivElement>(null);
  return (
    <div
      ref={scroller}
      class="table-preview"
      role="region"
      aria-label={text.previews.contentsOf({ name })}
      aria-busy={isSorting}
      tabIndex={0}
      dir="auto"
      data-scroller
    >
      {rowCount > rows.length && (
        <p class="preview-remark" dir={direction}>
          {text.previews.shownRows({ shown: rows.length, all: rowCount })}
        </p>
      )}
      <table class={isVirtual ? 'uniform' : undefined} aria-rowcount={isVirtual ? rows.length + 1 : undefined}>
        {isVirtual && <Widths table={table} />}
        <thead>
          <tr>
            <td class="number" />
            {columns.map((column, index) => (
              <th
                key={index}
                scope="col"
                class={column.isNumeric ? 'numeric' : undefined}
                aria-sort={sorted?.column === index ? (sorted.isDescending ? 'descending' : 'ascending') : 'none'}
              >
                <button
                  type="button"
                  aria-label={column.name.trim() === '' ? String(index + 1) : undefined}
                  onClick={() => setSorted(nextOrder(sorted, index))}
                >
                  <span>{showBidiControls(column.name)}</span>
                  {sorted?.column === index && <Icon name={sorted.isDescending ? 'chevron-down' : 'chevron-up'} />}
                </button>
              </th>
            ))}
          </tr>
        </thead>
        {isVirtual ? (
          <VirtualBody table={table} order={last.current} scroller={scroller} />
        ) : (
          <tbody>
            {rows.map((_, index) => (
              <Row key={index} table={table} index={last.current?.[index] ?? index} />
            ))}
          </tbody>
        )}
      </table>
    </div>
  );
}

/** Fixed widths, so that columns don't move while other rows appear. */
function Widths({ table: { columns, rows } }: { table: ParsedTable }) {
  return (
    <colgroup>
      <col style={{ inlineSize: `${Math.max(4, String(rows.length).length + 3)}ch` }} />
      {columns.map(({ width }, index) => (
        <col key={index} style={{ inlineSize: `${Math.min(40, Math.max(5, width)) + 5}ch` }} />
      ))}
    </colgroup>
  );
}

/** The number of cells rendered above and below the visible rows. */
const OVERSCAN_CELLS = 1_000;

/** The height of a uniform row in `rem`, as in the style sheet. */
const ROW_REM = 1.875;

interface VirtualBodyProps {
  table: ParsedTable;
  order: Uint32Array | undefined;
  scroller: RefObject<HTMLDivElement | null>;
}

function VirtualBody({ table, order, scroller }: VirtualBodyProps) {
  const count = table.rows.length;
  const rowHeight = useMemo(() => ROW_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize), []);
  const positions = useMemo(() => uniformRows(count, rowHeight), [count, rowHeight]);
  // The wider the table, the fewer rows.
  const overscan = Math.max(4, Math.min(20, Math.floor(OVERSCAN_CELLS / Math.max(1, table.columns.length))));
  const { rows } = useVirtualRows({ scroller, positions, headerHeight: rowHeight, pinned: -1, overscan });
  const [first] = rows;
  const end = rows.at(-1);
  const after = end ? positions.height - end.start - rowHeight : positions.height;
  return (
    <tbody>
      <Space height={first?.start ?? 0} />
      {rows.map(({ index }) => (
        <Row key={index} table={table} index={order?.[index] ?? index} position={index + 2} />
      ))}
      <Space height={after} />
    </tbody>
  );
}

/** Takes the space of rows that are not rendered. */
function Space({ height }: { height: number }) {
  return <tr class="space" aria-hidden="true" style={{ blockSize: `${height}px` }} />;
}

/** `position` is the number of the row among all rows, for a table that renders only some. */
function Row({ table: { columns, rows }, index, position }: { table: ParsedTable; index: number; position?: number }) {
  const row = rows[index] ?? [];
  return (
    <tr aria-rowindex={position}>
      <td class="number">{index + 1}</td>
      {columns.map(({ isNumeric }, column) => (
        <td key={column} class={isNumeric ? 'numeric' : undefined}>
          {showBidiControls(row[column] ?? '')}
        </td>
      ))}
    </tr>
  );
}
