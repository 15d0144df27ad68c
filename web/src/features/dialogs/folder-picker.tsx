import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { subjectOf } from '../../model/changes/change-texts.ts';
import { createFolderPickerState, type FolderPickerState } from '../../model/changes/folder-picker-state.ts';
import type { PickedTransfer } from '../../model/prompts.ts';
import { ancestorsOf, ROOT } from '../../platform/paths.ts';
import type { FolderEntry } from '../../platform/service/service.ts';
import { type Text, useFullLanguage } from '../../platform/text/language.ts';
import { folderName } from '../../platform/text/names.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { type Dialogs, useDialogs } from '../../ui/dialogs.tsx';
import { Icon } from '../../ui/icon.tsx';
import { Name } from '../folder/entry-parts.tsx';
import { usePermissions, useService } from '../models.ts';
import { askForFolderName } from './new-folder-dialog.tsx';
import './folder-picker.css';

/** Asks for the destination folder of a copy or move. Resolves to null if the user cancels. */
export function pickFolder(dialogs: Dialogs, transfer: PickedTransfer): Promise<string | null> {
  return dialogs.open<string>((close) => <FolderPicker transfer={transfer} close={close} />);
}

function FolderPicker({ transfer, close }: { transfer: PickedTransfer; close: (folder: string | null) => void }) {
  const { text, formats } = useFullLanguage();
  const service = useService();
  const permissions = usePermissions();
  const [picker] = useState(() =>
    createFolderPickerState({ ...transfer, service, permissions, compareNames: formats.compareNames }),
  );
  useEffect(() => picker.end, [picker]);

  const { paths, files = [] } = transfer;
  const { title, choose: choice } = textsOf(transfer, text);
  const { value: reason } = picker.reason;
  const choose = () => {
    if (reason === undefined) close(picker.path.value);
  };

  return (
    <Dialog
      kind="wide"
      title={title}
      onClose={() => close(null)}
      onSubmit={choose}
      actions={
        <>
          <span class="picker-aside">
            <NewFolderButton picker={picker} create={transfer.create} />
          </span>
          <Button onClick={() => close(null)}>{text.controls.cancel}</Button>
          <Button kind="primary" type="submit" disabled={reason !== undefined}>
            {choice}
          </Button>
        </>
      }
    >
      <div class="folder-picker">
        {files.length > 0 && <Files files={files} />}
        <Breadcrumb picker={picker} />
        <Folders picker={picker} onChoose={choose} />
        <p class="reason" role="status">
          {reason === 'add-denied' && text.dragging.addDenied}
          {reason === 'already-here' && text.folderPicker.alreadyHere({ count: paths.length })}
          {reason === 'into-itself' && text.folderPicker.intoItself}
        </p>
      </div>
    </Dialog>
  );
}

/** Returns the title of the dialog, and the label of the button that chooses the open folder. */
function textsOf({ kind, paths, files = [] }: PickedTransfer, { folderPicker, received }: Text) {
  const subject = subjectOf(paths);
  switch (kind) {
    case 'copy':
      return { title: folderPicker.copyTitle(subject), choose: folderPicker.copyHere };
    case 'move':
      return { title: folderPicker.moveTitle(subject), choose: folderPicker.moveHere };
    case 'save':
      return { title: received.title({ count: files.length, name: files[0]?.name ?? '' }), choose: received.save };
  }
}

/** The names and the size of files that another app has shared. Pages of other sites can share files too. */
function Files({ files }: { files: readonly File[] }) {
  const { text, formats } = useFullLanguage();
  const size = files.reduce((sum, file) => sum + file.size, 0);
  return (
    <>
      <p class="sender">{text.received.sender}</p>
      <p class="files">
        <span class="names">
          {files.slice(0, MAX_NAMES).map(({ name }, index) => (
            <span key={index}>
              <Name of={name} />
            </span>
          ))}
        </span>
        <span class="numbers">{formats.size(size)}</span>
      </p>
    </>
  );
}

/** No dialog is wide enough for more. */
const MAX_NAMES = 20;

function NewFolderButton({ picker, create }: { picker: FolderPickerState; create: PickedTransfer['create'] }) {
  const dialogs = useDialogs();
  const permissions = usePermissions();
  const language = useFullLanguage();
  const { text } = language;
  const ask = async () => {
    const folder = picker.path.value;
    const name = await askForFolderName(dialogs, { folder, isTaken: picker.isTaken });
    if (name === null || picker.path.value !== folder) return;
    const path = `${folder}${name}/`;
    if (!(await create(path)) || picker.path.value !== folder) return;
    picker.add(path);
    picker.open(path);
  };
  return (
    <Button icon="new-folder" disabled={!permissions.allowsIn(picker.path.value, 'write')} onClick={() => void ask()}>
      {text.changes.newFolder}
    </Button>
  );
}

function Breadcrumb({ picker }: { picker: FolderPickerState }) {
  const { text } = useFullLanguage();
  const path = picker.path.value;
  const openFolder = useRef<HTMLElement>(null);
  // Shows the end of a long path, which is the open folder.
  useLayoutEffect(() => openFolder.current?.scrollIntoView({ block: 'nearest', inline: 'end' }), [path]);

  return (
    <nav aria-label={text.folderPicker.path}>
      <ol>
        {[ROOT, ...ancestorsOf(path)].map((folder) => (
          <li key={folder}>
            {folder === path ? (
              <span ref={openFolder} class="here truncated-name" aria-current="true">
                <Name of={folderName(folder, text)} />
              </span>
            ) : (
              <button type="button" class="truncated-name" onClick={() => picker.open(folder)}>
                <Name of={folderName(folder, text)} />
              </button>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** The subfolders, and a field that filters them. The keyboard focus stays in the field. */
function Folders({ picker, onChoose }: { picker: FolderPickerState; onChoose: () => void }) {
  const { text } = useFullLanguage();
  const listId = useId();
  const optionId = useId();
  const field = useRef<HTMLInputElement>(null);
  const folders = picker.folders.value;
  const active = picker.active.value;
  const path = picker.path.value;
  const idOf = (folder: FolderEntry) => `${optionId}-${folders.indexOf(folder)}`;
  // On a touch screen, the on-screen keyboard would cover half of the dialog.
  const isTouch = window.matchMedia('(pointer: coarse)').matches;

  return (
    <>
      <input
        ref={field}
        class="text-field"
        type="text"
        dir="auto"
        role="combobox"
        autofocus={!isTouch}
        autocomplete="off"
        spellcheck={false}
        enterkeyhint="go"
        placeholder={text.folderPicker.filter}
        aria-label={text.folderPicker.filter}
        aria-autocomplete="list"
        aria-expanded={folders.length > 0}
        aria-controls={listId}
        aria-activedescendant={active && idOf(active)}
        value={picker.filter.value}
        onInput={({ currentTarget }) => {
          picker.filter.value = currentTarget.value;
        }}
        onKeyDown={(event) => handleKey(event, picker, onChoose)}
      />
      <div class="folders">
        <ul
          id={listId}
          role="listbox"
          tabIndex={-1}
          autofocus={isTouch}
          aria-label={text.folderPicker.folders({ folder: folderName(path, text) })}
        >
          {folders.map((folder, index) => (
            <Option
              key={folder.path}
              id={`${optionId}-${index}`}
              folder={folder}
              isActive={folder === active}
              isDisabled={picker.isTransferred(folder.path)}
              onOpen={() => {
                picker.open(folder.path);
                if (!isTouch) field.current?.focus();
              }}
            />
          ))}
        </ul>
        <Status picker={picker} />
      </div>
    </>
  );
}

/** The number of rows that Page Up and Page Down move. */
const PAGE_ROWS = 8;
const MOVES: Readonly<Record<string, number>> = {
  ArrowUp: -1,
  ArrowDown: 1,
  PageUp: -PAGE_ROWS,
  PageDown: PAGE_ROWS,
};

function handleKey(event: KeyboardEvent, picker: FolderPickerState, choose: () => void): void {
  if (event.isComposing) return;
  const by = MOVES[event.key];
  if (by !== undefined) picker.move(by);
  else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) choose();
  else if (event.key === 'Enter') {
    if (picker.active.value) picker.open(picker.active.value.path);
  } else if (event.key === 'Backspace' && picker.filter.value === '') picker.up();
  else return;
  event.preventDefault();
}

interface OptionProps {
  id: string;
  folder: FolderEntry;
  isActive: boolean;
  isDisabled: boolean;
  onOpen: () => void;
}

function Option({ id, folder, isActive, isDisabled, onOpen }: OptionProps) {
  const { text } = useFullLanguage();
  const element = useRef<HTMLLIElement>(null);
  useLayoutEffect(() => {
    if (isActive) element.current?.scrollIntoView({ block: 'nearest' });
  }, [isActive]);

  return (
    <li
      ref={element}
      id={id}
      role="option"
      class="option"
      aria-selected={isActive}
      aria-disabled={isDisabled}
      onClick={isDisabled ? undefined : onOpen}
    >
      <Icon name="folder" class="entry-icon folder" />
      <Name of={folder.name} />
      {isDisabled ? <span class="why">{text.folderPicker.isTransferred}</span> : <Icon name="chevron-right" />}
    </li>
  );
}

/** Replaces an empty list. Above a list, only screen readers present it. */
function Status({ picker }: { picker: FolderPickerState }) {
  const language = useFullLanguage();
  const { text } = language;
  const count = picker.folders.value.length;
  const problem = picker.problem.value;
  const isReading = picker.state.value === 'reading';
  return (
    <p class={count > 0 && !problem ? 'visually-hidden' : 'status'} role="status">
      {problem && language.reasonOf(problem)}
      {!problem && count > 0 && text.folderPicker.found({ count })}
      {!problem && count === 0 && isReading && text.folder.loading}
      {!problem &&
        count === 0 &&
        !isReading &&
        (picker.filter.value === '' ? text.folderPicker.empty : text.folderPicker.noMatch)}
    </p>
  );
}
