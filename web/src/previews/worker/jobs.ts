import type { Root } from 'hast';
import type { ParsedTable } from '../table/parse-table.ts';

/**
 * Work on the text of a file. A hostile text can take any time, so a worker does it, with a time limit, and the page
 * stays usable.
 */
export type Job =
  | { readonly kind: 'markdown'; readonly text: string; readonly labels: MarkdownLabels }
  | { readonly kind: 'colours'; readonly text: string; readonly grammar: string }
  | { readonly kind: 'table'; readonly text: string; readonly isTabbed: boolean };

/** Labels of footnotes in Markdown. */
export interface MarkdownLabels {
  readonly footnotes: string;
  readonly backToText: string;
}

/** The result of a job; undefined if the page can't draw it. */
export interface Results {
  readonly markdown: Root | 'nothing' | undefined;
  readonly colours: readonly ColouredLine[] | undefined;
  readonly table: ParsedTable;
}

/** The parts of a line, each with its class; the empty string for none. */
export type ColouredLine = readonly (readonly [className: string, text: string])[];

/** The messages of the worker: ready for its job, then the result. */
export type Message = { readonly kind: 'ready' } | { readonly kind: 'done'; readonly result: Results[Job['kind']] };
