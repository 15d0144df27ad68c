import type { RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { availableAction } from '../actions/actions.ts';
import { LazyDetails } from '../details/lazy-details.tsx';
import { MessageList } from '../messages/message-list.tsx';
import { type Page, useLanguage, usePage } from '../page.ts';
import { nameOf } from '../paths.ts';
import { useGallery } from './gallery.ts';
import { LazyPreview } from './lazy-preview.tsx';
import { LookedFor } from './looked-for.tsx';
import { useSwipes } from './swipe.ts';
import { ViewerHeader } from './viewer-header.tsx';
import { handleKey } from './viewer-keys.ts';
import { createViewerState, type ViewerTool } from './viewer-tools.ts';
import './viewer.css';

/** Shows the file of a path over the whole window, and leads to those beside it. */
export function Viewer({ path }: { path: string }) {
  const page = usePage();
  const { location, details, preferences } = page;
  const viewer = useMemo(createViewerState, []);
  const gallery = useGallery(path);
  const { entry, previous, next } = gallery;
  const stage = useRef<HTMLDivElement>(null);
  const titleId = useId();

  const close = useClosing(path);
  const dialog = useModal(path);
  const show = (file: typeof next) => file && location.openPreview(file.path);
  useSwipes(dialog, { left: next && (() => show(next)), right: previous && (() => show(previous)), down: close });
  useKeysOfNobody(dialog);

  return (
    <dialog
      ref={dialog}
      class="viewer"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onClose={close}
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
 * The dialog, open for as long as it is there. When it closes, the browser gives the focus back, and the folder is at
 * the file that was shown last.
 */
function useModal(path: string) {
  const { folder } = usePage();
  const dialog = useRef<HTMLDialogElement>(null);
  const lastPath = useRef(path);
  lastPath.current = path;
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => {
      element?.close();
      if (folder.indexOf(lastPath.current) >= 0) folder.focused.value = lastPath.current;
    };
  }, []);
  return dialog;
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

/** Leaves the preview, once: going back takes a moment, in which Escape may be pressed again. */
function useClosing(path: string): () => void {
  const { location } = usePage();
  const left = useRef<string | null>(null);
  useEffect(() => {
    left.current = null;
    // What closes the dialog after it is gone, closes nothing.
    return () => {
      left.current = path;
    };
  }, [path]);
  return () => {
    if (left.current === path || location.place.peek().preview === null) return;
    left.current = path;
    location.closePreview();
  };
}

/** Tells those who listen which file is shown now; the first is told by the dialog's name. */
function Announcement({ path, gallery: { place, count } }: { path: string; gallery: ReturnType<typeof useGallery> }) {
  const { text } = useLanguage();
  const first = useRef(path);
  return (
    <p class="visually-hidden" role="status">
      {path !== first.current && (
        <>
          <bdi>{nameOf(path)}</bdi>
          {place >= 0 && `, ${text.previews.position(place + 1, count)}`}
        </>
      )}
    </p>
  );
}
