import { useEffect, useMemo, useState } from 'preact/hooks';
import { useFullLanguage, useLanguageSignal } from '../../../platform/text/language.ts';
import { Button } from '../../../ui/button.tsx';
import { useService } from '../../models.ts';
import { ContentProblem, DownloadLink, NoPreview } from '../file-notices.tsx';
import { Loading } from '../notices.tsx';
import type { PreviewProps } from '../viewer-tools.ts';
import { BidiLimit } from './bidi-parts.ts';
import { blocksOf, createTextReader, type TextBlock, type TextReader } from './read-text.ts';
import { Source, useWrapTool, WholeSource } from './source.tsx';

/** The maximum number of bytes that the user can load. */
const LIMIT = 8 * 1024 * 1024;

/** Shows a text file. The user loads a long one in parts. */
export function TextPreview({ entry, viewer }: PreviewProps) {
  const service = useService();
  const language = useLanguageSignal();
  const { tag } = language.value;
  const reader = useMemo(() => createTextReader({ service, language: tag }, entry), []);
  const reading = useReading(reader);
  const { shown, error } = reading;

  if (!shown) {
    return error ? <ContentProblem entry={entry} error={error} onRetry={reading.loadMore} /> : <Loading />;
  }
  if (shown === 'binary') return <NoPreview entry={entry} />;
  if (shown.blocks.length === 0 && shown.rest === '') return <NoPreview entry={{ ...entry, size: 0 }} />;
  if (reader.isAtEnd && shown.whole !== undefined) {
    return <WholeSource name={entry.name} text={shown.whole} viewer={viewer} />;
  }
  return <LongText {...{ entry, viewer, reader, reading, shown }} />;
}

interface Shown {
  readonly blocks: readonly TextBlock[];
  /** The last line, if its end has not been read yet. */
  readonly rest: string;
  /** The whole text, if it was read in one part. */
  readonly whole: string | undefined;
}

interface Reading {
  readonly shown: Shown | 'binary' | undefined;
  readonly isBusy: boolean;
  readonly error: Error | undefined;
  readonly loadMore: () => void;
}

function useReading(reader: TextReader): Reading {
  const [shown, setShown] = useState<Shown | 'binary'>();
  const [error, setError] = useState<Error>();
  const [attempt, setAttempt] = useState(1);
  const [isBusy, setBusy] = useState(true);

  const read = async (signal: AbortSignal) => {
    try {
      const text = await reader.readNext(signal);
      if (!signal.aborted) setShown(text === undefined || shown === 'binary' ? 'binary' : extended(shown, text));
    } catch (thrown) {
      if (!signal.aborted) setError(thrown instanceof Error ? thrown : new Error(String(thrown)));
    }
    if (!signal.aborted) setBusy(false);
  };
  useEffect(() => {
    const aborting = new AbortController();
    setBusy(true);
    setError(undefined);
    void read(aborting.signal);
    return () => aborting.abort();
  }, [attempt]);
  return { shown, error, isBusy, loadMore: () => setAttempt(attempt + 1) };
}

function extended(before: Shown | undefined, text: string): Shown {
  const known = before ?? { blocks: [], rest: '' };
  const last = known.blocks.at(-1);
  const limited = new BidiLimit().apply(text);
  const { blocks, rest } = blocksOf(known.rest + limited, last ? last.firstLine + last.lines.length : 1);
  return { blocks: [...known.blocks, ...blocks], rest, whole: before ? undefined : text };
}

interface LongTextProps extends PreviewProps {
  reader: TextReader;
  reading: Reading;
  shown: Shown;
}

function LongText({ entry, viewer, reader, reading, shown: { blocks, rest } }: LongTextProps) {
  useWrapTool(viewer);
  const last = blocks.at(-1);
  const lastLine = { firstLine: last ? last.firstLine + last.lines.length : 1, lines: [rest] };
  return (
    <Source name={entry.name} blocks={rest === '' ? blocks : [...blocks, lastLine]} viewer={viewer}>
      {!reader.isAtEnd && <TextEnd {...{ entry, reader, reading }} />}
    </Source>
  );
}

function TextEnd({ entry, reader, reading }: Pick<LongTextProps, 'entry' | 'reader' | 'reading'>) {
  const { text, formats, direction } = useFullLanguage();
  if (reading.error) return <ContentProblem entry={entry} error={reading.error} onRetry={reading.loadMore} />;
  return (
    <div class="source-end" dir={direction}>
      <p role="status">
        {text.previews.shownPart({ shown: formats.size(reader.position), all: formats.size(entry.size) })}
      </p>
      {reader.position < LIMIT ? (
        <Button disabled={reading.isBusy} onClick={reading.loadMore}>
          {text.previews.showMore}
        </Button>
      ) : (
        <DownloadLink entry={entry} />
      )}
    </div>
  );
}
