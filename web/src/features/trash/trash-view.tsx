import { effect, untracked } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { createTrashList, type TrashList } from '../../model/trash/trash-list.ts';
import { ROOT } from '../../platform/paths.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { useToolbarFocus } from '../../ui/focus.ts';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { isForPage, isKey, keyLabel } from '../../ui/keyboard.ts';
import mark from '../../ui/mark.svg';
import { Skeleton } from '../folder/states.tsx';
import { useAccount, useChanges, useRetention, useRouter, useService, useUrls } from '../models.ts';
import { AccountButton } from '../sign-in/account-button.tsx';
import { AppearanceButton } from '../toolbar/top-bar.tsx';
import { type TrashActions, useTrashActions } from './trash-actions.ts';
import { TrashGrid } from './trash-grid.tsx';
import './trash-view.css';

/** The deleted files and folders, which users can restore or delete permanently. */
export function TrashView() {
  const list = useTrashList();
  const actions = useTrashActions(list);
  useTrashKeys(list, actions);
  return (
    <>
      <TrashTopBar />
      <main>
        <TrashToolbar list={list} actions={actions} />
        <div class="content">
          <div class="folder-view trash-view" data-region="list">
            <Contents list={list} actions={actions} />
          </div>
        </div>
      </main>
    </>
  );
}

/** Creates the list, and reads it again when other parts of the page change the trash, or another user signs in. */
function useTrashList(): TrashList {
  const service = useService();
  const changes = useChanges();
  const account = useAccount();
  const [list] = useState(() => createTrashList(service));
  useEffect(() => {
    const stop = effect(() => {
      void changes.trashChanges.value;
      void account?.signInCount.value;
      // Reading the list must not make it a dependency of the effect.
      untracked(() => void list.refresh());
    });
    return () => {
      stop();
      list.end();
    };
  }, []);
  return list;
}

/** Handles keys for the selection, wherever the focus is. */
function useTrashKeys(list: TrashList, actions: TrashActions): void {
  const changes = useChanges();
  const router = useRouter();
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    const run = (event: KeyboardEvent): boolean => {
      if (isKey(event, ['Escape'])) list.clearSelection();
      else if (isKey(event, ['mod+a'])) list.selectAll();
      else if (isKey(event, ['Delete', 'shift+Delete', 'mod+Backspace']))
        void latest.current.purge(list.selectedItems.value);
      else if (isKey(event, ['mod+z'])) changes.undos.value.at(-1)?.();
      else if (isKey(event, ['mod+shift+z'])) changes.redos.value.at(-1)?.();
      else if (isKey(event, ['alt+r'])) void list.refresh();
      else if (isKey(event, ['alt+ArrowUp', 'mod+ArrowUp', 'Backspace'])) router.openFolder(ROOT);
      else return false;
      return true;
    };
    const onKeyDown = (event: KeyboardEvent) => {
      if (!event.defaultPrevented && isForPage(event) && run(event)) event.preventDefault();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}

function TrashTopBar() {
  const router = useRouter();
  const urls = useUrls();
  const { text } = useFullLanguage();
  const openFiles = (event: MouseEvent) => {
    const { button, ctrlKey, metaKey, shiftKey, altKey } = event;
    if (button !== 0 || ctrlKey || metaKey || shiftKey || altKey) return;
    event.preventDefault();
    router.openFolder(ROOT);
  };
  return (
    <header class="top-bar" data-region="top">
      <img class="mark" src={mark} alt="Holdall" draggable={false} />
      <nav class="breadcrumb" aria-label={text.shell.path}>
        <ol>
          <li class="ancestor">
            <a href={urls.page(ROOT)} onClick={openFiles}>
              {text.shell.root}
            </a>
            <Icon name="chevron-right" class="directional" />
          </li>
          <li class="current">
            <h1>
              <a href={urls.trash()} aria-current="page" onClick={(event) => event.preventDefault()}>
                {text.actions.trash}
              </a>
            </h1>
          </li>
        </ol>
      </nav>
      <AppearanceButton />
      <AccountButton />
    </header>
  );
}

interface TrashProps {
  list: TrashList;
  actions: TrashActions;
}

/** The actions for the selection, or for the whole trash. On a phone, they are at the lower edge. */
function TrashToolbar({ list, actions }: TrashProps) {
  const { text } = useFullLanguage();
  const row = useRef<HTMLDivElement>(null);
  const focus = useToolbarFocus(row);
  const items = list.selectedItems.value;
  const count = items.length;
  const hasItems = list.items.value.length > 0;
  return (
    <div class={`toolbar ${count > 0 ? 'of-selection' : 'of-folder'}`} data-region="toolbar">
      {count > 0 && (
        <div class="selected">
          <IconButton
            icon="close"
            label={text.shell.clearSelection}
            shortcut={keyLabel('Escape')}
            onClick={() => list.clearSelection()}
          />
          <span class="numbers">{text.shell.selected({ count })}</span>
        </div>
      )}
      <div ref={row} class="tools" role="toolbar" aria-label={text.shell.actions} {...focus}>
        {actions.canRestore(items) && (
          <Tool icon="undo" kind="primary" label={text.trash.restore} onClick={() => void actions.restore(items)} />
        )}
        {actions.canPurge(items) && (
          <Tool
            icon="delete"
            kind="dangerous"
            label={text.actions.deletePermanently}
            onClick={() => void actions.purge(items)}
          />
        )}
        {count === 0 && list.items.value.some((item) => actions.canPurge([item])) && (
          <Tool icon="delete" kind="create" label={text.trash.empty} onClick={() => void actions.empty()} />
        )}
      </div>
      <div class="folder-state">
        <span class="count numbers">{hasItems && <LoadedCount list={list} />}</span>
      </div>
    </div>
  );
}

/** The number of items, with a sign that there are more while not all are loaded. */
function LoadedCount({ list }: { list: TrashList }) {
  const { text } = useFullLanguage();
  const count = list.items.value.length;
  return <>{text.folder.items({ count }) + (list.isComplete.value ? '' : '+')}</>;
}

interface ToolProps {
  icon: IconName;
  kind: string;
  label: string;
  onClick: () => void;
}

function Tool({ icon, kind, label, onClick }: ToolProps) {
  return (
    <button class={`tool ${kind}`} type="button" title={label} onClick={onClick}>
      <Icon name={icon} />
      <span>{label}</span>
    </button>
  );
}

function Contents({ list, actions }: TrashProps) {
  const language = useFullLanguage();
  const { text } = language;
  const { trash } = useRetention();
  const problem = list.problem.value;
  if (list.state.value === 'loading') return <Skeleton />;
  if (list.state.value === 'failed') {
    return (
      <div class="state" role="alert">
        <p class="title">{text.trash.openFailed}</p>
        {problem && <p class="detail">{language.reasonOf(problem)}</p>}
        <Button onClick={() => void list.refresh()}>{text.controls.retry}</Button>
      </div>
    );
  }
  if (list.items.value.length === 0 && list.isComplete.value) {
    return (
      <div class="state" tabIndex={-1}>
        <Icon name="delete" class="emblem" />
        <p class="title">{text.trash.none}</p>
        <p>{text.trash.noneHint}</p>
      </div>
    );
  }
  return (
    <>
      {trash?.days != null && <p class="expiry">{text.trash.expiry({ days: trash.days })}</p>}
      <TrashGrid list={list} actions={actions} />
      {problem && (
        <div class="more-entries" role="alert">
          <span>{language.reasonOf(problem)}</span>
          <Button onClick={() => void (list.isComplete.value ? list.refresh() : list.loadMore())}>
            {text.controls.retry}
          </Button>
        </div>
      )}
    </>
  );
}
