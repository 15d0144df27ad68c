import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { usePage } from '../page.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { Loading } from './loading.tsx';
import { MissingFile, ToFolder } from './missing-file.tsx';
import { Notice } from './notice.tsx';

/** Stands in for a file that is not in the listing: it may still come, or there is no such file. */
export function LookedFor() {
  const { folder, rights } = usePage();
  const language = useFullLanguage();
  const { text } = language;
  const problem = folder.problem.value;
  if (problem && !problem.isNotFound) {
    const actions = <Button onClick={() => void folder.refresh()}>{text.controls.retry}</Button>;
    return (
      <Notice icon={<Icon name="warning" />} title={text.previews.unreadable} actions={actions} isAlert>
        {language.reasonOf(problem)}
      </Notice>
    );
  }
  if (folder.state.value === 'ready' && !rights.may('read')) {
    const title = rights.may('write') ? text.folder.uploadOnly : text.folder.nothingToSee;
    return <Notice icon={<Icon name="file" />} title={title} actions={<ToFolder />} isAlert />;
  }
  if (folder.state.value === 'failed' || folder.listing.value === 'complete') return <MissingFile />;
  if (folder.listing.value === 'partial') return <Loading />;
  const actions = <Button onClick={() => folder.readOn()}>{text.previews.readOn}</Button>;
  return <Notice icon={<Icon name="search" />} title={text.previews.notRead} actions={actions} />;
}
