import { useEffect, useId, useLayoutEffect } from 'preact/hooks';
import { nameOf } from '../../platform/paths.ts';
import { MAX_EDITED_BYTES } from '../../platform/preview-kinds.ts';
import { ServiceError } from '../../platform/service/service-error.ts';
import { type FullLanguage, useFullLanguage, useLanguageSignal } from '../../platform/text/language.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { keyLabel } from '../../ui/keyboard.ts';
import { useLoaded } from '../../ui/loading.ts';
import { useModalDialog } from '../../ui/modal.ts';
import { Name } from '../folder/entry-parts.tsx';
import { useService, useUrls } from '../models.ts';
import { Loading, Notice } from '../viewer/notices.tsx';
import { type LoadedText, loadText } from './load-text.ts';
import { type Editing, type EditorNotice, useEditing } from './use-editing.ts';
import './editor.css';

interface EditorProps {
  path: string;
  close: () => void;
  /** Receives the function that closes the editor, which asks about unsaved changes first. */
  onLeave: (leave: () => void) => void;
}

/** Edits a text file over the whole window. */
export function Editor({ path, close, onLeave }: EditorProps) {
  const service = useService();
  const language = useLanguageSignal();
  const { tag } = language.value;
  const loaded = useLoaded((signal) => loadText(service, path, { language: tag, signal }), [path]);
  if (loaded.state === 'ready' && loaded.value.kind === 'text') {
    return <TextEditor {...{ path, close, onLeave }} loaded={loaded.value} />;
  }
  return (
    <Frame path={path} leave={close} onLeave={onLeave}>
      {loaded.state === 'loading' && <Loading />}
      {loaded.state === 'failed' && <Failure error={loaded.error} retry={loaded.retry} />}
      {loaded.state === 'ready' && <NotEditable path={path} kind={loaded.value.kind} />}
    </Frame>
  );
}

function Failure({ error, retry }: { error: Error; retry: () => void }) {
  const language = useFullLanguage();
  const { text } = language;
  const actions = (
    <Button kind="primary" onClick={retry}>
      {text.controls.retry}
    </Button>
  );
  return (
    <Notice icon={<Icon name="warning" />} title={text.previews.openFailed} actions={actions} isAlert>
      {error instanceof ServiceError ? language.reasonOf(error) : text.previews.storeFailedHint}
    </Notice>
  );
}

function NotEditable({ path, kind }: { path: string; kind: LoadedText['kind'] }) {
  const { text, formats } = useFullLanguage();
  const urls = useUrls();
  const isLarge = kind === 'too-large';
  const actions = (
    <a class="button primary" href={urls.download(path)} download={nameOf(path)}>
      <Icon name="download" />
      <span>{text.actions.download}</span>
    </a>
  );
  return (
    <Notice
      icon={<Icon name="file" />}
      title={isLarge ? text.editor.tooLarge : text.editor.notText}
      actions={actions}
      isAlert
    >
      {isLarge ? text.editor.tooLargeHint({ limit: formats.size(MAX_EDITED_BYTES) }) : undefined}
    </Notice>
  );
}

interface FrameProps {
  path: string;
  leave: () => void;
  onLeave: EditorProps['onLeave'];
  editing?: Editing;
  children: preact.ComponentChildren;
}

/** The dialog: the name of the file, its state and the tools above the text. */
function Frame({ path, leave, onLeave, editing, children }: FrameProps) {
  const { text } = useFullLanguage();
  const titleId = useId();
  const { dialog, listeners } = useModalDialog(leave);
  useLayoutEffect(() => onLeave(leave));
  return (
    <dialog
      ref={dialog}
      class="editor"
      aria-labelledby={titleId}
      {...listeners}
      onClose={() => {
        // Browsers close a dialog on a second Escape, whatever the page asks the user.
        if (dialog.current?.isConnected && editing?.isDirty.value) dialog.current.showModal();
        else listeners.onClose();
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        // In the text, Escape closes the search, or lets Tab leave the text.
        const isInText = event.composedPath()[0] !== event.target;
        if (event.key === 'Escape' && isInText) event.preventDefault();
        else if (editing && !event.defaultPrevented) editing.handleKey(event);
      }}
    >
      <div class="top">
        <IconButton icon="close" label={text.controls.close} shortcut={keyLabel('Escape')} onClick={leave} />
        <div class="heading">
          <h1 id={titleId} class="truncated-name" title={nameOf(path)}>
            <Name of={nameOf(path)} />
          </h1>
          {editing && <SaveState editing={editing} />}
        </div>
        {editing && <Tools editing={editing} />}
        {editing && <SaveButton editing={editing} />}
      </div>
      {children}
    </dialog>
  );
}

function SaveState({ editing }: { editing: Editing }) {
  const language = useFullLanguage();
  const { editor } = language.text;
  const { state, lock } = editing;
  const shown = lock.value ? editor.readOnly : labelOf(state.value.kind, language);
  return (
    <p class={`save-state ${state.value.kind}`} role="status">
      {shown}
    </p>
  );
}

function labelOf(kind: Editing['state']['value']['kind'], { text: { editor } }: FullLanguage): string {
  const labels = {
    saved: editor.saved,
    unchanged: '',
    dirty: editor.unsaved,
    saving: editor.saving,
    failed: editor.notSaved,
  };
  return labels[kind];
}

function Tools({ editing }: { editing: Editing }) {
  const { text } = useFullLanguage();
  const { actions, editor, previews } = text;
  return (
    <div class="tools">
      {!editing.lock.value && (
        <>
          <IconButton icon="undo" label={actions.undo} shortcut={keyLabel('mod+z')} onClick={editing.undo} />
          <IconButton icon="redo" label={actions.redo} shortcut={keyLabel('mod+shift+z')} onClick={editing.redo} />
        </>
      )}
      <IconButton icon="search" label={editor.find} shortcut={keyLabel('mod+f')} onClick={editing.find} />
      <IconButton icon="wrap" label={previews.wrap} pressed={editing.isWrapped.value} onClick={editing.toggleWrap} />
    </div>
  );
}

function SaveButton({ editing: { lock, isDirty, state, save } }: { editing: Editing }) {
  const { text } = useFullLanguage();
  if (lock.value) return null;
  const isDisabled = state.value.kind === 'saving' || !isDirty.value;
  return (
    <Button kind="primary" disabled={isDisabled} onClick={() => void save()}>
      {text.editor.save}
    </Button>
  );
}

interface TextEditorProps extends EditorProps {
  loaded: LoadedText & { readonly kind: 'text' };
}

function TextEditor({ path, close, onLeave, loaded }: TextEditorProps) {
  const editing = useEditing({ path, loaded, close });
  useEffect(() => editing.start(), []);
  return (
    <Frame path={editing.path.value} leave={editing.leave} onLeave={onLeave} editing={editing}>
      <Notices editing={editing} />
      <div ref={editing.mount} class="text" />
      <Footer editing={editing} />
    </Frame>
  );
}

function Notices({ editing }: { editing: Editing }) {
  const language = useFullLanguage();
  const { editor, controls } = language.text;
  const { lock, notice, state, conflicts } = editing;
  const failure = state.value.kind === 'failed' ? state.value : undefined;
  return (
    <>
      {lock.value && (
        <Bar text={lock.value === 'foreign' ? editor.foreign : editor.denied}>
          {lock.value === 'foreign' && editing.canConvert && (
            <Button onClick={editing.convert}>{editor.convert}</Button>
          )}
        </Bar>
      )}
      {failure && (
        <Bar text={`${editor.notSaved}: ${language.reasonOf(failure.error)}`} isAlert>
          <Button onClick={() => void editing.save()}>{controls.retry}</Button>
        </Bar>
      )}
      {conflicts.value > 0 && (
        <Bar text={editor.conflicts({ count: conflicts.value })} isAlert>
          <Button onClick={editing.nextConflict}>{editor.nextConflict}</Button>
        </Bar>
      )}
      {notice.value && conflicts.value === 0 && <NoticeBar editing={editing} notice={notice.value} />}
    </>
  );
}

function NoticeBar({ editing, notice }: { editing: Editing; notice: EditorNotice }) {
  const { text } = useFullLanguage();
  const { editor, controls } = text;
  const dismiss = <IconButton icon="close" label={controls.dismiss} onClick={editing.dismissNotice} />;
  switch (notice.kind) {
    case 'restored':
      return (
        <Bar text={editor.restored}>
          <Button onClick={editing.discardDraft}>{editor.discardDraft}</Button>
          {dismiss}
        </Bar>
      );
    case 'changed':
      return (
        <Bar text={notice.user === undefined ? editor.changed : editor.changedBy({ user: notice.user })}>
          <Button onClick={() => void editing.review()}>
            {editing.isDirty.value ? editor.review : editor.showNew}
          </Button>
        </Bar>
      );
    case 'gone':
      return <Bar text={editor.gone}>{dismiss}</Bar>;
    case 'text':
      return <Bar text={notice.text}>{dismiss}</Bar>;
  }
}

function Bar({
  text,
  isAlert = false,
  children,
}: {
  text: string;
  isAlert?: boolean;
  children?: preact.ComponentChildren;
}) {
  return (
    <div class={`bar ${isAlert ? 'alert' : ''}`}>
      <p role={isAlert ? 'alert' : 'status'}>{text}</p>
      {children}
    </div>
  );
}

function Footer({ editing }: { editing: Editing }) {
  const { text } = useFullLanguage();
  const { cursor, lineEnding, encoding } = editing;
  const names = { '\n': 'LF', '\r\n': 'CRLF', '\r': 'CR', mixed: text.editor.mixedLines };
  return (
    <footer class="numbers">
      <span>{text.editor.cursor({ line: cursor.value.line, column: cursor.value.column })}</span>
      <span>{names[lineEnding.value]}</span>
      <span>{encoding.value}</span>
    </footer>
  );
}
