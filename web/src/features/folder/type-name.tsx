import type { FileEntry } from '../../platform/service/service.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { lazyValue } from '../../ui/lazy-value.ts';

/** The names of all types, which are not in the first load. */
const TYPE_NAMES = lazyValue(() => import('../../platform/type-names.ts'));

/** The name of a file's type: `JPEG image`. It appears a moment after the first view. */
export function TypeName({ entry }: { entry: FileEntry }) {
  const { text } = useLanguage();
  return <>{TYPE_NAMES.use()?.typeLabel(entry, text)}</>;
}
