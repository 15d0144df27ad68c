import type { RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { availableAction } from '../actions/actions.ts';
import { useModalDialog } from '../../ui/use-modal-dialog.ts';
import { useSwipes } from '../../ui/use-swipes.ts';
import { LazyDetails } from '../details/lazy-details.tsx';
import { MessageList } from '../messages/message-list.tsx';
import { type Page, usePage } from '../page.ts';
import { nameOf } from '../../platform/paths.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { shownName } from '../../platform/text/shown-name.ts';
import { useGallery } from './gallery.ts';
import { LazyPreview } from './lazy-preview.tsx';
import { LookedFor } from './looked-for.tsx';
import { useClosing } from './use-closing.ts';
import { ViewerHeader } from './viewer-header.tsx';
import { handleKey } from './viewer-keys.ts';
import { createViewerState, type ViewerTool } from './viewer-tools.ts';
import './viewer.css';

export interface ViewerProps {
  path: string;
  /** Whether it takes the place of `ViewerToCome`, and is not to be seen coming. */
  isInPlace: boolean;
}

/** Shows the file of a path over the whole window, and leads to those beside it. */
export function Viewer({ path, isInPlace }: ViewerProps) {
  const page = usePage();
  const { location, details, preferences } = page;
  const viewer = useMemo(createViewerState, []);
  const gallery = useGallery(path);
  const { entry, previous, next } = gallery;
  const stage = useRef<HTMLDivElement>(null);
  const titleId = useId();

  const close = useClosing(path);
  const { dialog, listeners } = useModalDialog(close);
  useFocusOnLast(path);
  const show = (file: typeof next) => file && location.openPreview(file.path);
  useSwipes(dialog, { left: next && (() => show(next)), right: previous && (() => show(previous)), down: close });
  useKeysOfNobody(dialog);

  return (
    <dialog
      ref={dialog}
      class={`viewer ${isInPlace ? 'in-place' : ''}`}
      aria-labelledby={titleId}
      {...listeners}
      onKeyDown={(event) =>
        handleKey(event, {
          stage: stage.current,
          tools: [...viewer.tools.peek(), detailsTool(page)],
          characterKeys: preferences.characterKeys.peek(),
          previous: () => show(previous),
          next: () => show(next),
        })
      }
    >
      <ViewerHeader {...{ path, gallery, viewer, titleId }} onShow={show} onClose={close} />
      {/* Takes the focus first, so that keys reach the viewer, and no button looks as if it had been chosen. */}
      <div ref={stage} class="stage" tabIndex={-1} autofocus>
        {entry ? <LazyPreview key={`${path} ${entry.etag}`} {...{ entry, viewer }} /> : <LookedFor />}
      </div>
      {entry && details.isOpen.value && <LazyDetails entries={[entry]} />}
      <Announcement path={path} gallery={gallery} />
      <MessageList />
    </dialog>
  );
}

/** The action of the page that shows details, by the same keys. */
function detailsTool(page: Page): ViewerTool {
  const action = availableAction(page, 'details');
  return { id: 'details', keys: action?.keys ?? [], run: () => action?.run(page) };
}

/**
 * When the browser gives the focus back, the folder is at the file that was shown last; where one file was selected, it
 * is that one now, so that nothing is done to another than the one that was looked at.
 */
function useFocusOnLast(path: string): void {
  const { folder, selection } = usePage();
  const lastPath = useRef(path);
  lastPath.current = path;
  useLayoutEffect(
    () => () => {
      if (folder.indexOf(lastPath.current) < 0) return;
      folder.focused.value = lastPath.current;
      if (selection.count.peek() === 1) selection.only(lastPath.current);
    },
    [],
  );
}

/** Has keys reach the dialog too when what had the focus is gone, as a button of the file before. */
function useKeysOfNobody(dialog: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const pass = (event: KeyboardEvent) => {
      const inFront = [...document.querySelectorAll('dialog:modal')].at(-1);
      if (event.target !== document.body || inFront !== dialog.current) return;
      event.stopPropagation();
      inFront?.querySelector<HTMLElement>('.stage')?.focus({ preventScroll: true });
      inFront?.dispatchEvent(new KeyboardEvent(event.type, event));
    };
    window.addEventListener('keydown', pass, { capture: true });
    return () => window.removeEventListener('keydown', pass, { capture: true });
  }, []);
}

/** Tells those who listen which file is shown now; the first is told by the dialog's name. */
function Announcement({ path, gallery: { place, count } }: { path: string; gallery: ReturnType<typeof useGallery> }) {
  const { text } = useFullLanguage();
  const first = useRef(path);
  return (
    <p class="visually-hidden" role="status">
      {path !== first.current &&
        (place >= 0
          ? text.previews.shown({ name: nameOf(path), position: place + 1, count })
          : shownName(nameOf(path)))}
    </p>
  );
}
