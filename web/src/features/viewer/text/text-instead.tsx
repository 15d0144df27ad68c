import type { PreviewProps } from '../viewer-tools.ts';
import { TextPreview } from './text-preview.tsx';

/** The text of a file in the place of what could not be made of it, and why that could not be. */
export function TextInstead({ reason, ...props }: PreviewProps & { reason: string }) {
  return (
    <>
      <p class="preview-remark">{reason}</p>
      <TextPreview {...props} />
    </>
  );
}
