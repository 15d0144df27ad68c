import { Component, type ComponentChild } from 'preact';
import type { PreviewProps } from '../viewer-tools.ts';
import { TextPreview } from './text-preview.tsx';

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
