import { useSignal } from '@preact/signals';
import { useEffect, useId, useRef } from 'preact/hooks';
import { canRetry } from '../../model/uploads/upload-item.ts';
import type { AllUploads } from '../../model/uploads/upload-model.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { focusRegion } from '../../ui/focus.ts';
import { Icon } from '../../ui/icon.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { NARROW, useMedia } from '../../ui/responsive.ts';
import { useChanges, usePermissions } from '../models.ts';
import { OperationRow } from './operation-row.tsx';
import { TrayTitle } from './tray-title.tsx';
import { UploadList } from './upload-list.tsx';
import './tray.css';

/** The tray; `all` is null where there are changes to tell of alone. */
export function OpenTray({ all }: { all: AllUploads | null }) {
  const changes = useChanges();
  const { text } = useFullLanguage();
  // On a phone, the files are what one came for.
  const isOpen = useSignal(!useMedia(NARROW));
  const tray = useRef<HTMLElement>(null);
  const bodyId = useId();
  const hasUploads = all !== null && (all.items.value.length > 0 || all.reading.value !== null);
  useClosing(all, tray);

  return (
    <section
      ref={tray}
      class={`tray ${isOpen.value ? 'open' : 'folded'} ${hasUploads ? '' : 'changes-only'}`}
      aria-label={text.uploads.title}
      data-region="tray"
    >
      <header>
        <button
          class="fold"
          type="button"
          aria-expanded={isOpen.value}
          aria-controls={bodyId}
          title={isOpen.value ? text.uploads.fold : text.uploads.unfold}
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          <TrayTitle all={all} isOpen={isOpen.value} />
          <Icon name={isOpen.value ? 'chevron-down' : 'chevron-up'} />
        </button>
        {all && <TrayActions all={all} />}
      </header>
      {all && <WholeProgress all={all} />}
      <div class="body" id={bodyId} hidden={!isOpen.value}>
        {changes.running.value.length > 0 && (
          <ul class="operations">
            {changes.running.value.map((operation) => (
              <OperationRow key={operation.id} operation={operation} />
            ))}
          </ul>
        )}
        {isOpen.value && hasUploads && <UploadList all={all} />}
      </div>
    </section>
  );
}

/** What can be done about all of them. */
function TrayActions({ all }: { all: AllUploads }) {
  const permissions = usePermissions();
  const { text } = useFullLanguage();
  const isFailed = all.summary.value.count.failed > 0;
  if (all.isBusy.value) {
    // In words: the cross in its place closes the tray when all is over, and would be pressed by mistake.
    return <Button onClick={all.cancelAll}>{text.uploads.cancelAll}</Button>;
  }
  const failed = isFailed
    ? all.items.value.filter((item) => item.state.value === 'failed' && canRetry(item, permissions)).length
    : 0;
  const close = () => {
    all.clear();
    focusRegion('list');
  };
  return (
    <>
      {failed > 0 && <Button onClick={all.retryAll}>{text.uploads.retryAll({ count: failed })}</Button>}
      {all.items.value.length > 0 && <IconButton icon="close" label={text.controls.close} onClick={close} />}
    </>
  );
}

function WholeProgress({ all }: { all: AllUploads }) {
  const { text } = useFullLanguage();
  if (!all.isBusy.value) return null;
  return <ProgressBar label={text.uploads.progress} part={all.summary.value.part} />;
}

/** Milliseconds for which a tray stays when all went well. */
const STAY = 5_000;

/** Closes the tray some time after all went well, unless somebody points at it or is at it with the keyboard. */
function useClosing(all: AllUploads | null, tray: { readonly current: HTMLElement | null }): void {
  const changes = useChanges();
  const isOver = all !== null && all.items.value.length > 0 && !all.isBusy.value && changes.running.value.length === 0;
  const isWell = isOver && all.summary.value.count.failed === 0;
  useEffect(() => {
    if (!isWell) return undefined;
    let timer = setTimeout(function close() {
      if (tray.current?.matches(':hover, :has(:focus-visible)')) timer = setTimeout(close, STAY);
      else all.clear();
    }, STAY);
    return () => clearTimeout(timer);
  }, [isWell]);
}
