import type { Root } from 'hast';

/**
 * Work on a text that may take long. How long, nobody can tell of a text that somebody has made for that purpose: so it
 * is done beside the page, and given up after a while.
 */
export type Job =
  | { readonly kind: 'markdown'; readonly text: string; readonly labels: MarkdownLabels }
  | { readonly kind: 'colours'; readonly text: string; readonly grammar: string };

/** Words that are put into a text of Markdown where it has footnotes. */
export interface MarkdownLabels {
  readonly footnotes: string;
  readonly backToText: string;
}

/** What a job gives; undefined where there is nothing that the page could draw. */
export interface Results {
  readonly markdown: Root | 'nothing' | undefined;
  readonly colours: readonly ColouredLine[] | undefined;
}

/** The parts of a line, each with its class, which is empty where it has none. */
export type ColouredLine = readonly (readonly [className: string, text: string])[];

/** What the worker says when it can be given a job, and then of that job. */
export type Message = { readonly kind: 'ready' } | { readonly kind: 'done'; readonly result: Results[Job['kind']] };
