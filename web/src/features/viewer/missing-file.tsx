import { useLanguage } from '../../platform/text/language-context.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useRouter } from '../models.ts';
import { Notice } from './notice.tsx';

/** Says that there is no such file, or none any more, and leads back to its folder. */
export function MissingFile() {
  const { text } = useLanguage();
  return (
    <Notice icon={<Icon name="file" />} title={text.previews.missing} actions={<ToFolder />} isAlert>
      {text.previews.missingHint}
    </Notice>
  );
}

export function ToFolder() {
  const router = useRouter();
  const { text } = useLanguage();
  return <Button onClick={() => router.closePreview()}>{text.previews.toFolder}</Button>;
}
