import type { Root } from 'hast';
import type { ParsedTable } from '../table/parse-table.ts';

/**
 * A job on the text of a file. A hostile text can take unlimited time, so a worker runs the job with a timeout, and
 * the page stays responsive.
 */
export type Job =
  | { readonly kind: 'markdown'; readonly text: string; readonly labels: MarkdownLabels }
  | { readonly kind: 'highlight'; readonly text: string; readonly grammar: string }
  | { readonly kind: 'table'; readonly text: string; readonly isTabbed: boolean };

/** Labels of footnotes in Markdown. */
export interface MarkdownLabels {
  readonly footnotes: string;
  readonly backToText: string;
}

/** The result of each kind of job; undefined if the page can't render it. */
export interface Results {
  readonly markdown: Root | 'nothing' | undefined;
  readonly highlight: readonly HighlightedLine[] | undefined;
  readonly table: ParsedTable;
}

/** The tokens of a line, each with its class; the empty string for none. */
export type HighlightedLine = readonly (readonly [className: string, text: string])[];

/** A message of the worker: ready for its job, or done with a result. */
export type Message = { readonly kind: 'ready' } | { readonly kind: 'done'; readonly result: Results[Job['kind']] };
