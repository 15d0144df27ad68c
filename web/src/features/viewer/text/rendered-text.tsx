import { Component, type ComponentChild } from 'preact';
import { useState } from 'preact/hooks';
import type { FileEntry } from '../../../platform/service/service.ts';
import { useFullLanguage, useLanguageSignal } from '../../../platform/text/language.ts';
import { useLoaded } from '../../../ui/loading.ts';
import { useService } from '../../models.ts';
import { ContentProblem, NoPreview } from '../file-notices.tsx';
import { Loading } from '../notices.tsx';
import { type PreviewProps, useTools, type ViewerState, type ViewerTool } from '../viewer-tools.ts';
import { readWholeText } from './read-text.ts';
import { HighlightedSource, wrapTool } from './source.tsx';
import { TextPreview } from './text-preview.tsx';

/** Reads the whole text of a file, and renders `children` with it. */
export function WholeText({ entry, children }: { entry: FileEntry; children: (text: string) => ComponentChild }) {
  const service = useService();
  const language = useLanguageSignal();
  const { tag } = language.value;
  const loaded = useLoaded((signal) => readWholeText({ service, language: tag }, entry, signal));

  if (loaded.state === 'loading') return <Loading />;
  if (loaded.state === 'failed') return <ContentProblem entry={entry} error={loaded.error} onRetry={loaded.retry} />;
  if (loaded.value === undefined) return <NoPreview entry={entry} />;
  if (loaded.value.trim() === '') return <NoPreview entry={{ ...entry, size: 0 }} />;
  return <>{children(loaded.value)}</>;
}

interface WithSourceProps {
  name: string;
  text: string;
  viewer: ViewerState;
  children: ComponentChild;
}

/** Renders `children`, and offers to switch to the source text. */
export function WithSource({ name, text: source, viewer, children }: WithSourceProps) {
  const { text } = useFullLanguage();
  const [isSource, setSource] = useState(false);
  const isWrapped = viewer.isWrapped.value;
  const toggle: ViewerTool = {
    id: 'source',
    button: { icon: 'code', label: text.previews.source, pressed: isSource },
    keys: ['s'],
    run: () => setSource(!isSource),
  };
  useTools(viewer, () => (isSource ? [toggle, wrapTool(viewer, text)] : [toggle]), [isSource, isWrapped, text]);
  return isSource ? <HighlightedSource name={name} text={source} viewer={viewer} /> : <>{children}</>;
}

/** Shows the text of a file, and the reason why it could not be rendered. */
export function TextFallback({ reason, ...props }: PreviewProps & { reason: string }) {
  return (
    <>
      <p class="preview-remark">{reason}</p>
      <TextPreview {...props} />
    </>
  );
}

interface TextErrorBoundaryProps extends PreviewProps {
  reason: string;
  children: ComponentChild;
}

/** Shows the text of the file if rendering `children` throws. */
export class TextErrorBoundary extends Component<TextErrorBoundaryProps, { isFailed: boolean }> {
  override state = { isFailed: false };

  static override getDerivedStateFromError() {
    return { isFailed: true };
  }

  override render({ children, ...props }: TextErrorBoundaryProps) {
    return this.state.isFailed ? <TextFallback {...props} /> : <>{children}</>;
  }
}
