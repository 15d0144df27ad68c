import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { usePage } from '../page.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { Notice } from './notice.tsx';

/** Says that there is no such file, or none any more, and leads back to its folder. */
export function MissingFile() {
  const { text } = useFullLanguage();
  return (
    <Notice icon={<Icon name="file" />} title={text.previews.missing} actions={<ToFolder />} isAlert>
      {text.previews.missingHint}
    </Notice>
  );
}

export function ToFolder() {
  const { location } = usePage();
  const { text } = useFullLanguage();
  return <Button onClick={() => location.closePreview()}>{text.previews.toFolder}</Button>;
}
