import type { Root } from 'hast';
import { type MergedText, mergeTexts, type Versions } from '../../../model/editing/merge.ts';
import type { OfficeFormat } from '../../../platform/preview-kinds.ts';
import { type ExaminedSvg, examineSvg } from '../image/examine-svg.ts';
import { type MarkdownLabels, renderableMarkdown } from '../markdown/parse-markdown.ts';
import type { ExtractedDocument } from '../office/document.ts';
import { type ParsedTable, parseTable } from '../table/parse-table.ts';
import { type ColumnOrder, sortRows } from '../table/sort-rows.ts';
import { type HighlightedLine, highlightLines } from '../text/highlighter.ts';

/**
 * A job on the text of a file. A hostile text can take unlimited time, so a worker runs the job with a timeout, and
 * the page stays responsive.
 */
export type Job =
  | { readonly kind: 'markdown'; readonly text: string; readonly labels: MarkdownLabels }
  | { readonly kind: 'highlight'; readonly text: string; readonly grammar: string }
  | { readonly kind: 'table'; readonly text: string; readonly isTabbed: boolean }
  | ({ readonly kind: 'sort' } & ColumnOrder)
  | { readonly kind: 'svg'; readonly bytes: Uint8Array }
  | ({ readonly kind: 'merge' } & Versions)
  | { readonly kind: 'office'; readonly bytes: Uint8Array; readonly format: OfficeFormat };

/** The result of each kind of job; undefined if the page can't render it. */
export interface Results {
  readonly markdown: Root | 'nothing' | undefined;
  readonly highlight: readonly HighlightedLine[] | undefined;
  readonly table: ParsedTable;
  /** The indices of the rows in their new order. */
  readonly sort: Uint32Array;
  readonly svg: ExaminedSvg | undefined;
  readonly merge: MergedText;
  readonly office: ExtractedDocument | undefined;
}

/** A message of the worker: ready for its job, or done with a result. */
export type Message = { readonly kind: 'ready' } | { readonly kind: 'done'; readonly result: Results[Job['kind']] };

addEventListener('message', ({ data }: MessageEvent<Job>) => void finish(data).catch(reportError));
post({ kind: 'ready' });

async function finish(job: Job): Promise<void> {
  post({ kind: 'done', result: await run(job) });
}

function run(job: Job): Results[Job['kind']] | Promise<Results[Job['kind']]> {
  switch (job.kind) {
    case 'markdown':
      return renderableMarkdown(job.text, job.labels);
    case 'highlight':
      return highlightLines(job.text, job.grammar);
    case 'table':
      return parseTable(job.text, job.isTabbed);
    case 'sort':
      return sortRows(job);
    case 'svg':
      return examineSvg(job.bytes);
    case 'merge':
      return mergeTexts(job);
    case 'office':
      // Its libraries are as large as those of code highlighting.
      return import('../office/extract.ts').then(({ extractDocument }) => extractDocument(job.bytes, job.format));
  }
}

function post(message: Message): void {
  postMessage(message);
}
