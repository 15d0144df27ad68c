import { useId } from 'preact/hooks';
import { nameOf } from '../../platform/paths.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { IconButton } from '../../ui/button.tsx';
import { keyLabel } from '../../ui/keys.ts';
import { Name } from '../../ui/name.tsx';
import { useModalDialog } from '../../ui/use-modal-dialog.ts';
import { Loading } from './loading.tsx';
import { NotLoadedNotice } from './not-loaded-notice.tsx';
import { useClosing } from './use-closing.ts';
import './viewer.css';

interface ViewerToComeProps {
  path: string;
  /** Loads the code again after a failure. */
  retry: (() => void) | undefined;
}

/** The placeholder of the viewer while its code loads. The user can already close it. */
export function ViewerToCome({ path, retry }: ViewerToComeProps) {
  const { text } = useLanguage();
  const titleId = useId();
  const close = useClosing(path);
  const { dialog, listeners } = useModalDialog(close);
  return (
    <dialog ref={dialog} class="viewer" aria-labelledby={titleId} {...listeners}>
      <div class="top">
        <div class="heading">
          <IconButton icon="close" label={text.controls.close} shortcut={keyLabel('Escape')} onClick={close} />
          <div class="name">
            <h1 id={titleId}>
              <Name of={nameOf(path)} />
            </h1>
          </div>
        </div>
      </div>
      <div class="stage" tabIndex={-1} autofocus>
        {retry ? <NotLoadedNotice retry={retry} /> : <Loading />}
      </div>
    </dialog>
  );
}
