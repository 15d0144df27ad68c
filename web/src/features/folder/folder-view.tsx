import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { type Folder, isWritableTarget } from '../../model/folder/folder.ts';
import { isModalOpen } from '../../ui/keyboard.ts';
import { useActions } from '../actions/actions.ts';
import { useDragging } from '../dragging/dragging.ts';
import { useFolder, useSelection } from '../models.ts';
import { Entries } from './entries.tsx';
import { UnknownState, useFolderStates } from './lazy-states.tsx';
import { pointOf } from './pointing.ts';
import { Skeleton } from './skeleton.tsx';
import './folder-view.css';

/** The shown folder: its entries, or its state. */
export function FolderView() {
  const folder = useFolder();
  const selection = useSelection();
  const dragging = useDragging();
  const actions = useActions();
  const scroller = useRef<HTMLDivElement>(null);
  const path = folder.path.value;
  /** Opens the menu of the folder beside the entries, which have their own menus. */
  const openFolderMenu = (event: MouseEvent) => {
    if (event.defaultPrevented) return;
    event.preventDefault();
    selection.clear();
    actions.openMenu(pointOf(event));
  };
  const dropFolder = isWritableTarget(folder) ? path : undefined;
  const isTarget = dragging.kind.value === 'files' && dragging.target.value === path;
  const states = useFolderStates(folder.listing.value === 'paused');
  useStateOnDocument();

  return (
    <div class={`folder-view ${isTarget ? 'target' : ''}`} data-drop-folder={dropFolder} data-region="list">
      <div class="scroller" data-scroller ref={scroller} onContextMenu={openFolderMenu}>
        <Contents scroller={scroller} />
      </div>
      {states && <states.MoreEntries />}
    </div>
  );
}

function Contents({ scroller }: { scroller: RefObject<HTMLDivElement | null> }) {
  const folder = useFolder();
  const kind = contentsKind(folder);
  const states = useFolderStates(kind !== 'entries' && kind !== 'loading');
  useFocusOnNewContents(kind, scroller, states !== null);
  if (kind === 'entries') return <Entries scroller={scroller} />;
  if (kind === 'loading') return <Skeleton />;
  if (!states) return <UnknownState />;
  if (kind === 'failed') return <states.FolderProblem />;
  return kind === 'empty' ? <states.EmptyFolder /> : <states.NoMatch />;
}

type ContentsKind = 'failed' | 'loading' | 'empty' | 'no-match' | 'entries';

function contentsKind({ state, count, entries }: Folder): ContentsKind {
  if (state.value !== 'ready') return state.value;
  if (count.value === 0) return 'empty';
  return entries.value.length === 0 ? 'no-match' : 'entries';
}

/** Moves the focus to the next kind of contents that is focusable when the focused contents are removed. */
function useFocusOnNewContents(
  kind: ContentsKind,
  scroller: RefObject<HTMLElement | null>,
  areStatesLoaded: boolean,
): void {
  const folder = useFolder();
  const last = useRef<ContentsKind | null>(null);
  const isLost = useRef(false);
  // An effect runs after the layout effects of dialogs that close at the same time, which return the focus.
  useEffect(() => {
    // The first contents replace nothing, and loading contents contain nothing focusable.
    if (last.current !== null && last.current !== 'loading' && last.current !== kind) isLost.current = true;
    last.current = kind;
    const isShown = kind === 'entries' || (kind !== 'loading' && areStatesLoaded);
    if (!isShown || !isLost.current) return;
    isLost.current = false;
    if (document.activeElement !== document.body || isModalOpen()) return;
    if (kind === 'entries') folder.focused.value ??= folder.entries.peek()[0]?.path ?? null;
    const target = kind === 'entries' ? '[data-path][tabindex="0"]' : 'button, [tabindex]';
    scroller.current?.querySelector<HTMLElement>(target)?.focus({ preventScroll: true });
  }, [kind, areStatesLoaded]);
}

/** Sets attributes of the root element with the state of the folder, for style sheets and tests. */
function useStateOnDocument(): void {
  const folder = useFolder();
  const state = folder.state.value;
  const listing = folder.listing.value;
  useLayoutEffect(() => {
    const { dataset } = document.documentElement;
    dataset['folder'] = state;
    dataset['listing'] = listing;
  }, [state, listing]);
}
