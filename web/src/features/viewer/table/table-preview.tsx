import { useFullLanguage } from '../../../platform/text/language.ts';
import { useLoaded } from '../../../ui/loading.ts';
import { Loading, NotLoadedNotice } from '../notices.tsx';
import { showBidiControls } from '../text/bidi-controls.tsx';
import { TextFallback, WholeText, WithSource } from '../text/rendered-text.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import { runJob, WorkerNotLoaded } from '../worker/run-job.ts';
import type { ParsedTable } from './parse-table.ts';
import './table-preview.css';

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
  return (
    <WithSource name={name} text={source} viewer={viewer}>
      <Table name={name} table={parsed.value} />
    </WithSource>
  );
}

function Table({ name, table: { columns, rows, rowCount } }: { name: string; table: ParsedTable }) {
  const { text, direction } = useFullLanguage();
  const classes = columns.map(({ isNumeric }) => (isNumeric ? 'numeric' : undefined));
  return (
    <div
      class="table-preview"
      role="region"
      aria-label={text.previews.contentsOf({ name })}
      tabIndex={0}
      dir="auto"
      data-scroller
    >
      {rowCount > rows.length && (
        <p class="preview-remark" dir={direction}>
          {text.previews.shownRows({ shown: rows.length, all: rowCount })}
        </p>
      )}
      <table>
        <thead>
          <tr>
            <td class="number" />
            {columns.map((column, index) => (
              <th key={index} scope="col" class={classes[index]}>
                {showBidiControls(column.name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              <td class="number">{index + 1}</td>
              {classes.map((className, column) => (
                <td key={column} class={className}>
                  {showBidiControls(row[column] ?? '')}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
