import Papa from 'papaparse';
import { useMemo } from 'preact/hooks';
import { useLanguage } from '../../page.ts';
import { FileText } from '../text/file-text.tsx';
import { WithSource } from '../text/with-source.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import './table-preview.css';

/** Rows and columns that are shown. */
const ROWS = 1000;
const COLUMNS = 200;

/** A table of separated values: its first line is taken for the names of the columns. */
export function TablePreview({ entry, viewer }: PreviewProps) {
  return (
    <FileText entry={entry}>
      {(source) => (
        <WithSource name={entry.name} text={source} viewer={viewer}>
          <Table name={entry.name} source={source} />
        </WithSource>
      )}
    </FileText>
  );
}

function Table({ name, source }: { name: string; source: string }) {
  const { text } = useLanguage();
  const { names, rows } = useMemo(() => parseTable(source, /\.tsv$/i.test(name)), [source, name]);
  const columns = Array.from(
    { length: Math.min(COLUMNS, Math.max(...[names, ...rows.slice(0, ROWS)].map(({ length }) => length))) },
    (_, index) => index,
  );
  const isNumeric = columns.map((column) => rows.slice(0, 50).every((row) => NUMBER.test(row[column] ?? '')));
  const classOf = (column: number) => (isNumeric[column] ? 'numeric' : undefined);

  return (
    <div class="table" role="region" aria-label={text.previews.contentsOf(name)} tabIndex={0} data-scroller>
      {rows.length > ROWS && <p class="preview-remark">{text.previews.shownRows(ROWS, rows.length)}</p>}
      <table>
        <thead>
          <tr>
            <td class="number" />
            {columns.map((column) => (
              <th key={column} scope="col" class={classOf(column)} dir="auto">
                {names[column]}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, ROWS).map((row, index) => (
            <tr key={index}>
              <td class="number">{index + 1}</td>
              {columns.map((column) => (
                <td key={column} class={classOf(column)} dir="auto">
                  {row[column]}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Empty cells are of every kind. */
const NUMBER = /^\s*(|[-+]?[\d.,\s]*\d[\d.,\s]*%?)\s*$/;

interface ParsedTable {
  readonly names: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** Where tabs are not meant, what separates the values is guessed: a comma, a semicolon, a tab or a bar. */
function parseTable(source: string, isTabbed: boolean): ParsedTable {
  const { data } = Papa.parse<string[]>(source, { delimiter: isTabbed ? '\t' : '', skipEmptyLines: true });
  const [names = [], ...rows] = data;
  return { names, rows };
}
