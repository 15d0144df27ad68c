import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { Dialogs } from '../../ui/dialogs.ts';
import { Icon } from '../../ui/icon.tsx';
import { Name } from '../../ui/name.tsx';
import { usePage } from '../page.ts';
import { ancestorsOf, ROOT } from '../../platform/paths.ts';
import type { PickedTransfer } from '../../model/prompts.ts';
import type { FolderEntry } from '../../platform/service/service.ts';
import { folderName } from '../../platform/text/folder-name.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { askForNewFolder } from './new-folder-question.tsx';
import { createPickedFolder, type PickedFolder } from '../../model/changes/picked-folder.ts';
import { subjectOf } from '../../model/changes/words.ts';
import './folder-picker.css';
import '../../ui/styles/text-field.css';

/** Asks for the destination folder of a copy or move. Resolves to null if the user cancels. */
export function askForFolder({
  dialogs,
  ...transfer
}: PickedTransfer & { readonly dialogs: Dialogs }): Promise<string | null> {
  return dialogs.ask<string>((close) => <FolderPicker transfer={transfer} close={close} />);
}

function FolderPicker({ transfer, close }: { transfer: PickedTransfer; close: (folder: string | null) => void }) {
  const { text, formats } = useFullLanguage();
  const { service, rights } = usePage();
  const [picked] = useState(() =>
    createPickedFolder({ ...transfer, service, rights, compareNames: formats.compareNames }),
  );
  useEffect(() => picked.end, [picked]);

  const { paths, kind } = transfer;
  const subject = subjectOf(paths);
  const { value: reason } = picked.reason;
  const choose = () => {
    if (reason === undefined) close(picked.path.value);
  };

  return (
    <Dialog
      kind="wide"
      title={kind === 'copy' ? text.folderPicker.copyTitle(subject) : text.folderPicker.moveTitle(subject)}
      onClose={() => close(null)}
      onSubmit={choose}
      actions={
        <>
          <span class="picker-aside">
            <NewFolderButton picked={picked} create={transfer.create} />
          </span>
          <Button onClick={() => close(null)}>{text.controls.cancel}</Button>
          <Button kind="primary" type="submit" disabled={reason !== undefined}>
            {kind === 'copy' ? text.folderPicker.copyHere : text.folderPicker.moveHere}
          </Button>
        </>
      }
    >
      <div class="folder-picker">
        <Breadcrumb picked={picked} />
        <Folders picked={picked} onChoose={choose} />
        <p class="reason" role="status">
          {reason === 'may-not-add' && text.dragging.mayNotAdd}
          {reason === 'already-here' && text.folderPicker.alreadyHere({ count: paths.length })}
          {reason === 'into-itself' && text.folderPicker.intoItself}
        </p>
      </div>
    </Dialog>
  );
}

function NewFolderButton({ picked, create }: { picked: PickedFolder; create: PickedTransfer['create'] }) {
  const { dialogs, rights } = usePage();
  const { text } = useFullLanguage();
  const ask = async () => {
    const folder = picked.path.value;
    const isTaken = (name: string) => picked.folders.value.some((entry) => entry.name === name);
    const name = await askForNewFolder({ dialogs, folder, isTaken });
    if (name === null || picked.path.value !== folder) return;
    const path = `${folder}${name}/`;
    if (!(await create(path)) || picked.path.value !== folder) return;
    picked.add(path);
    picked.open(path);
  };
  return (
    <Button icon="new-folder" disabled={!rights.mayIn(picked.path.value, 'write')} onClick={() => void ask()}>
      {text.changes.newFolder}
    </Button>
  );
}

function Breadcrumb({ picked }: { picked: PickedFolder }) {
  const { text } = useFullLanguage();
  const path = picked.path.value;
  const here = useRef<HTMLElement>(null);
  // The end of a long path is what one is at.
  useLayoutEffect(() => here.current?.scrollIntoView({ block: 'nearest', inline: 'end' }), [path]);

  return (
    <nav aria-label={text.folderPicker.path}>
      <ol>
        {[ROOT, ...ancestorsOf(path)].map((folder) => (
          <li key={folder}>
            {folder === path ? (
              <span ref={here} class="here" aria-current="true">
                <Name of={folderName(folder, text)} />
              </span>
            ) : (
              <button type="button" onClick={() => picked.open(folder)}>
                <Name of={folderName(folder, text)} />
              </button>
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** A field that filters the folders, from which the arrow keys move through them. */
function Folders({ picked, onChoose }: { picked: PickedFolder; onChoose: () => void }) {
  const { text } = useFullLanguage();
  const listId = useId();
  const optionId = useId();
  const field = useRef<HTMLInputElement>(null);
  const folders = picked.folders.value;
  const active = picked.active.value;
  const path = picked.path.value;
  const idOf = (folder: FolderEntry) => `${optionId}-${folders.indexOf(folder)}`;
  // On a touch screen the keyboard would cover half of the dialog.
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
        value={picked.filter.value}
        onInput={({ currentTarget }) => {
          picked.filter.value = currentTarget.value;
        }}
        onKeyDown={(event) => handleKey(event, picked, onChoose)}
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
              isDisabled={picked.isTransferred(folder.path)}
              onOpen={() => {
                picked.open(folder.path);
                if (!isTouch) field.current?.focus();
              }}
            />
          ))}
        </ul>
        <Status picked={picked} />
      </div>
    </>
  );
}

/** Rows by which Page Up and Page Down move. */
const PAGE = 8;
const MOVES: Readonly<Record<string, number>> = {
  ArrowUp: -1,
  ArrowDown: 1,
  PageUp: -PAGE,
  PageDown: PAGE,
};

function handleKey(event: KeyboardEvent, picked: PickedFolder, choose: () => void): void {
  if (event.isComposing) return;
  const by = MOVES[event.key];
  if (by !== undefined) picked.move(by);
  else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) choose();
  else if (event.key === 'Enter') {
    if (picked.active.value) picked.open(picked.active.value.path);
  } else if (event.key === 'Backspace' && picked.filter.value === '') picked.up();
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

/** What there is to say in the place of folders, and to those who don't see these. */
function Status({ picked }: { picked: PickedFolder }) {
  const language = useFullLanguage();
  const { text } = language;
  const count = picked.folders.value.length;
  const problem = picked.problem.value;
  const isReading = picked.state.value === 'reading';
  return (
    <p class={count > 0 && !problem ? 'visually-hidden' : 'status'} role="status">
      {problem && language.reasonOf(problem)}
      {!problem && count > 0 && text.folderPicker.found({ count })}
      {!problem && count === 0 && isReading && text.folder.loading}
      {!problem &&
        count === 0 &&
        !isReading &&
        (picked.filter.value === '' ? text.folderPicker.empty : text.folderPicker.noMatch)}
    </p>
  );
}
