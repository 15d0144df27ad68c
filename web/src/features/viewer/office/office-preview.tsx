import { useState } from 'preact/hooks';
import { officeFormatOf } from '../../../platform/preview-kinds.ts';
import { useFullLanguage } from '../../../platform/text/language.ts';
import { useLoaded } from '../../../ui/loading.ts';
import { useService } from '../../models.ts';
import { ContentProblem, DownloadLink, NoPreview } from '../file-notices.tsx';
import { Loading, NotLoadedNotice } from '../notices.tsx';
import { Table } from '../table/table-preview.tsx';
import { showBidiControls } from '../text/bidi-controls.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import { runJob, WorkerNotLoaded } from '../worker/run-job.ts';
import type { Block, ExtractedDocument, MailField } from './document.ts';
import './office-preview.css';

/** Shows the text of an office document or an e-mail. */
export function OfficePreview({ entry }: PreviewProps) {
  const service = useService();
  const { text } = useFullLanguage();
  const read = useLoaded((signal) => service.read(entry.path, { from: 0, length: entry.size, signal }));
  const bytes = read.state === 'ready' ? read.value : undefined;
  const format = officeFormatOf(entry);
  const extracted = useLoaded(
    async (signal) => bytes && format && runJob({ kind: 'office', bytes, format }, signal),
    [bytes],
  );

  if (read.state === 'failed') return <ContentProblem entry={entry} error={read.error} onRetry={read.retry} />;
  if (extracted.state === 'failed' && extracted.error instanceof WorkerNotLoaded) {
    return <NotLoadedNotice retry={extracted.retry} />;
  }
  if (!bytes || extracted.state === 'loading') return <Loading />;
  const document = extracted.state === 'ready' ? extracted.value : undefined;
  if (!document || document.blocks.length === 0) return <NoPreview entry={entry} reason={text.previews.noText} />;
  return <Document entry={entry} document={document} />;
}

function Document({ entry, document }: Pick<PreviewProps, 'entry'> & { document: ExtractedDocument }) {
  const { text, direction } = useFullLanguage();
  const [shown, setShown] = useState(0);
  const sheets = document.blocks.filter((block) => block.kind === 'sheet');
  const sheet = sheets[shown];
  return (
    <div class="office-preview">
      <div class="remark" dir={direction}>
        <p>{document.isTruncated ? text.previews.textCut : text.previews.textOnly}</p>
        <DownloadLink entry={entry} />
      </div>
      {sheets.length > 1 && (
        <div class="sheets" role="group" aria-label={text.previews.sheets}>
          {sheets.map(({ name }, index) => (
            <button key={index} type="button" aria-pressed={index === shown} onClick={() => setShown(index)}>
              {showBidiControls(name)}
            </button>
          ))}
        </div>
      )}
      {sheet ? (
        <Table key={shown} name={entry.name} table={sheet.table} />
      ) : (
        <article aria-label={text.previews.contentsOf({ name: entry.name })} tabIndex={0} dir="auto" data-scroller>
          {document.blocks.map((block, index) => (
            <BlockElement key={index} block={block} />
          ))}
        </article>
      )}
    </div>
  );
}

function BlockElement({ block }: { block: Block }) {
  const { text, formats } = useFullLanguage();
  const shown = (name: MailField, value: string) => {
    const time = name === 'date' ? new Date(value) : undefined;
    return time && !Number.isNaN(time.getTime()) ? formats.time(time) : showBidiControls(value);
  };
  switch (block.kind) {
    case 'heading': {
      // The name of the file is the first heading of the viewer.
      const Heading = `h${Math.min(6, block.level + 1)}` as 'h2';
      return <Heading dir="auto">{showBidiControls(block.text)}</Heading>;
    }
    case 'paragraph':
      return <p dir="auto">{showBidiControls(block.text)}</p>;
    case 'item':
      return (
        <p class="item" dir="auto">
          {showBidiControls(block.text)}
        </p>
      );
    case 'slide':
      return <p class="slide">{text.previews.slide({ number: block.number })}</p>;
    case 'table':
      return (
        <div class="wide">
          <table>
            <tbody>
              {block.rows.map((row, index) => (
                <tr key={index}>
                  {row.map((cell, column) => (
                    <td key={column} dir="auto">
                      {showBidiControls(cell)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case 'fields':
      return (
        <dl>
          {block.fields.map(([name, value]) => (
            <div key={name}>
              <dt>{text.previews.mail[name]}</dt>
              <dd dir="auto">{shown(name, value)}</dd>
            </div>
          ))}
        </dl>
      );
    case 'sheet':
      return null;
  }
}
