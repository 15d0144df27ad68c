import { useSignal } from '@preact/signals';
import { useEffect, useId, useRef } from 'preact/hooks';
import type { Operation } from '../../model/changes/changes.ts';
import { canResume, canRetry, needsFile } from '../../model/uploads/upload-item.ts';
import type { UploadModel } from '../../model/uploads/upload-model.ts';
import { activeDetails, activeTitle, uploadResult } from '../../model/uploads/upload-texts.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { focusRegion } from '../../ui/focus.ts';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { ProgressBar } from '../../ui/progress-bar.tsx';
import { NARROW, useMedia } from '../../ui/responsive.ts';
import { useChanges, usePermissions } from '../models.ts';
import { UploadList } from './upload-list.tsx';
import './tray.css';

interface OpenTrayProps {
  /** Null while the code of the uploads is not loaded. */
  uploads: UploadModel | null;
  hasUploads: boolean;
}

export function OpenTray({ uploads, hasUploads }: OpenTrayProps) {
  const changes = useChanges();
  const { text } = useFullLanguage();
  // On a phone, an open tray would cover the files.
  const isOpen = useSignal(!useMedia(NARROW));
  const tray = useRef<HTMLElement>(null);
  const bodyId = useId();
  useClosing(uploads, tray);

  return (
    <section
      ref={tray}
      data-aside
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
          title={isOpen.value ? text.uploads.minimize : text.uploads.expand}
          onClick={() => {
            isOpen.value = !isOpen.value;
          }}
        >
          <TrayTitle uploads={uploads} isOpen={isOpen.value} />
          <Icon name={isOpen.value ? 'chevron-down' : 'chevron-up'} />
        </button>
        {uploads && <TrayActions uploads={uploads} />}
      </header>
      {uploads?.isBusy.value && <ProgressBar label={text.uploads.progress} part={uploads.summary.value.part} />}
      <div class="body" id={bodyId} hidden={!isOpen.value}>
        {changes.running.value.length > 0 && (
          <ul class="operations">
            {changes.running.value.map((operation) => (
              <OperationRow key={operation.id} operation={operation} />
            ))}
          </ul>
        )}
        {isOpen.value && uploads && hasUploads && <UploadList uploads={uploads} />}
      </div>
    </section>
  );
}

/** The status of all uploads and changes in one line. */
function TrayTitle({ uploads, isOpen }: { uploads: UploadModel | null; isOpen: boolean }) {
  const changes = useChanges();
  const { text, formats } = useFullLanguage();
  const { running } = changes;
  const [operation] = running.value;

  if (uploads?.isBusy.value) {
    const summary = uploads.summary.value;
    const details = uploads.isOnline.value ? activeDetails(summary, text, formats) : [text.uploads.offline];
    return <TitleLine icon="upload" title={activeTitle(summary, text)} details={details} />;
  }
  if (uploads && uploads.filesFound.value !== null) {
    return <TitleLine icon="upload" title={text.uploads.reading({ count: uploads.filesFound.value })} />;
  }
  const interrupted = uploads?.summary.value.count.interrupted ?? 0;
  if (interrupted > 0) {
    return <TitleLine icon="upload" title={text.uploads.unfinished({ count: interrupted })} />;
  }
  if (uploads && uploads.items.value.length > 0) {
    const [title = '', ...details] = uploadResult(uploads.summary.value, text);
    const icon = uploads.summary.value.count.failed > 0 ? 'warning' : 'check';
    return <TitleLine icon={icon} title={title} details={details} />;
  }
  // An open tray shows the title of the operation in its row.
  if (operation && running.value.length === 1 && !isOpen) return <TitleLine title={operation.title} />;
  return <TitleLine title={text.uploads.changes({ count: running.value.length })} />;
}

function TitleLine({ icon, title, details = [] }: { icon?: IconName; title: string; details?: readonly string[] }) {
  return (
    <>
      {icon && <Icon name={icon} class={icon} />}
      <span class="words">
        <span class="title">{title}</span>
        {details.length > 0 && <span class="rest numbers">{details.join(' · ')}</span>}
      </span>
    </>
  );
}

/** The buttons for all uploads. */
function TrayActions({ uploads }: { uploads: UploadModel }) {
  const changes = useChanges();
  const permissions = usePermissions();
  const { text } = useFullLanguage();
  const isFailed = uploads.summary.value.count.failed > 0;
  if (uploads.isBusy.value) {
    // A text instead of a cross: at the end, the cross that closes the tray takes this position.
    return <Button onClick={uploads.cancelAll}>{text.uploads.cancelAll}</Button>;
  }
  const interrupted = uploads.summary.value.count.interrupted;
  const resumable = interrupted > 0 ? uploads.items.value.filter(canResume).length : 0;
  const missing = interrupted > 0 && resumable === 0 ? uploads.items.value.filter(needsFile).length : 0;
  const failed = isFailed
    ? uploads.items.value.filter((item) => item.state.value === 'failed' && canRetry(item, permissions)).length
    : 0;
  const close = () => {
    uploads.clear();
    focusRegion('list');
  };
  const undo = uploads.undo.value;
  // Ctrl+Z can have undone the uploads.
  const canUndo = undo && failed === 0 && changes.undos.value.includes(undo.run);
  return (
    <>
      {resumable > 0 && <Button onClick={uploads.resumeAll}>{text.uploads.resumeAll({ count: resumable })}</Button>}
      {missing > 1 && <Button onClick={uploads.chooseAll}>{text.uploads.chooseAll({ count: missing })}</Button>}
      {failed > 0 && <Button onClick={uploads.retryAll}>{text.uploads.retryAll({ count: failed })}</Button>}
      {canUndo && (
        <Button
          onClick={() => {
            close();
            undo.run();
          }}
        >
          {undo.label}
        </Button>
      )}
      {uploads.items.value.length > 0 && <IconButton icon="close" label={text.controls.close} onClick={close} />}
    </>
  );
}

/** A change that takes a while. */
function OperationRow({ operation }: { operation: Operation }) {
  const { text, formats } = useFullLanguage();
  const { title, progress, isCancelling } = operation;
  const { done, total, bytes } = progress.value;
  const items = total === null ? text.folder.items({ count: done }) : text.uploads.itemsOf({ count: done, total });
  const state = bytes > 0 ? `${items} · ${formats.size(bytes)}` : items;

  return (
    <li class="operation">
      <Icon name="folder" />
      <div class="what">
        <p class="name" title={title}>
          {title}
        </p>
        <ProgressBar label={title} part={total === null || total === 0 ? null : done / total} />
        <p class="how numbers">{isCancelling.value ? text.uploads.cancelling : state}</p>
      </div>
      <IconButton
        icon="close"
        label={text.uploads.cancelChange({ message: title })}
        onClick={() => operation.cancel()}
      />
    </li>
  );
}

/** The time for which the tray stays after everything succeeded. */
const CLOSE_DELAY_MS = 5_000;

/** Closes the tray a while after everything succeeded, unless the user points at it or focuses it by keyboard. */
function useClosing(uploads: UploadModel | null, tray: { readonly current: HTMLElement | null }): void {
  const changes = useChanges();
  const isIdle = uploads?.isBusy.value === false && changes.running.value.length === 0;
  const { failed = 0, interrupted = 0 } = uploads?.summary.value.count ?? {};
  const isDone = isIdle && uploads.items.value.length > 0 && failed + interrupted === 0;
  useEffect(() => {
    if (!isDone) return undefined;
    let timer = setTimeout(function close() {
      if (tray.current?.matches(':hover, :has(:focus-visible)')) timer = setTimeout(close, CLOSE_DELAY_MS);
      else uploads.clear();
    }, CLOSE_DELAY_MS);
    return () => clearTimeout(timer);
  }, [isDone]);
}
