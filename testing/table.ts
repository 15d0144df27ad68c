/** A column of a Markdown table: its heading, and `right` for figures. */
export interface Column {
  readonly heading: string;
  readonly align: 'left' | 'right';
}

/** A Markdown table whose columns line up in a terminal as well. */
export function formatTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map(({ heading }, index) => {
    return Math.max(3, heading.length, ...rows.map((row) => row[index]?.length ?? 0));
  });
  const formatRow = (cells: readonly string[]) =>
    `| ${columns.map(({ align }, index) => pad(cells[index] ?? '', widths[index] ?? 0, align)).join(' | ')} |`;
  const rule = columns.map(({ align }, index) => {
    const dashes = '-'.repeat((widths[index] ?? 3) - 1);
    return align === 'right' ? `${dashes}:` : `:${dashes}`;
  });
  const head = formatRow(columns.map(({ heading }) => heading));
  return [head, `| ${rule.join(' | ')} |`, ...rows.map(formatRow)].join('\n');
}

function pad(text: string, width: number, align: Column['align']): string {
  return align === 'right' ? text.padStart(width) : text.padEnd(width);
}
