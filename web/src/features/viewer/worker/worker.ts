import { renderableMarkdown } from '../markdown/parse-markdown.ts';
import { parseTable } from '../table/parse-table.ts';
import { highlightLines } from '../text/highlighter.ts';
import type { Job, Message, Results } from './jobs.ts';

addEventListener('message', ({ data }: MessageEvent<Job>) => tell({ kind: 'done', result: done(data) }));
tell({ kind: 'ready' });

function done(job: Job): Results[Job['kind']] {
  switch (job.kind) {
    case 'markdown':
      return renderableMarkdown(job.text, job.labels);
    case 'highlight':
      return highlightLines(job.text, job.grammar);
    case 'table':
      return parseTable(job.text, job.isTabbed);
  }
}

function tell(message: Message): void {
  postMessage(message);
}
