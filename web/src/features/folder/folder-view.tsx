import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { isWritableTarget } from '../../model/folder/folder.ts';
import { useActions } from '../actions/actions.ts';
import { useDragging } from '../dragging/dragging.ts';
import { useFolder, useSelection } from '../models.ts';
import { Entries } from './entries.tsx';
import { kindOf, useFocusPassedOn } from './focus-passed-on.ts';
import { pointOf } from './pointing.ts';
import { EmptyFolder, FolderProblem, MoreEntries, NoMatch, Skeleton } from './states.tsx';
import './folder-view.css';

/** The folder that is shown, in whatever state it is. */
export function FolderView() {
  const folder = useFolder();
  const selection = useSelection();
  const dragging = useDragging();
  const actions = useActions();
  const scroller = useRef<HTMLDivElement>(null);
  const path = folder.path.value;
  /** Beside the entries, which have menus of their own. */
  const openFolderMenu = (event: MouseEvent) => {
    if (event.defaultPrevented) return;
    event.preventDefault();
    selection.clear();
    actions.openMenu(pointOf(event));
  };
  const taker = isWritableTarget(folder) ? path : undefined;
  const isTarget = dragging.kind.value === 'files' && dragging.target.value === path;
  useStateOnDocument();

  return (
    <div class={`folder-view ${isTarget ? 'target' : ''}`} data-drop-folder={taker} data-region="list">
      <div class="scroller" data-scroller ref={scroller} onContextMenu={openFolderMenu}>
        <Contents scroller={scroller} />
      </div>
      <MoreEntries />
    </div>
  );
}

function Contents({ scroller }: { scroller: RefObject<HTMLDivElement | null> }) {
  const folder = useFolder();
  const kind = kindOf(folder);
  useFocusPassedOn(kind, scroller);
  if (kind === 'failed') return <FolderProblem />;
  if (kind === 'loading') return <Skeleton />;
  if (kind === 'empty') return <EmptyFolder />;
  return kind === 'no-match' ? <NoMatch /> : <Entries scroller={scroller} />;
}

/** Tells style sheets, and programs that look at the page, how far the listing is. */
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
