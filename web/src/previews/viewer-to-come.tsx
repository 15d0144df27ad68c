import { useId } from 'preact/hooks';
import { keyLabel } from '../actions/keys.ts';
import { Button, IconButton } from '../controls/button.tsx';
import { Icon } from '../controls/icon.tsx';
import { Name } from '../controls/name.tsx';
import { useModalDialog } from '../controls/use-modal-dialog.ts';
import { useLanguage } from '../page.ts';
import { nameOf } from '../paths.ts';
import { Loading } from './loading.tsx';
import { Notice } from './notice.tsx';
import { useClosing } from './use-closing.ts';
import './viewer.css';

interface ViewerToComeProps {
  path: string;
  /** Loads it again; there when it could not be. */
  retry: (() => void) | undefined;
}

/** Stands for the viewer while its code is being loaded: it can be left already. */
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
        {retry ? (
          <Notice
            icon={<Icon name="warning" />}
            title={text.previews.notLoaded}
            actions={<Button onClick={retry}>{text.controls.retry}</Button>}
            isAlert
          />
        ) : (
          <Loading />
        )}
      </div>
    </dialog>
  );
}
