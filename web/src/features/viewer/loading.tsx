import { useLanguage } from '../../platform/text/language-context.ts';

/** Says that something is on its way, where that takes long enough to be noticed. */
export function Loading() {
  const { text } = useLanguage();
  return (
    <p class="preview-loading" role="status">
      {text.folder.loading}
    </p>
  );
}
