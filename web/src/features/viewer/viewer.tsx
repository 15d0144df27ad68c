import type { RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { nameOf } from '../../platform/paths.ts';
import { previewKindOf } from '../../platform/preview-kinds.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { shownName } from '../../platform/text/names.ts';
import { rowKeys } from '../../ui/direction.ts';
import { isField, isKey, keysOf, PALETTE_KEYS } from '../../ui/keyboard.ts';
import { useModalDialog } from '../../ui/modal.ts';
import { NARROW, useMedia } from '../../ui/responsive.ts';
import { useSwipes } from '../../ui/use-swipes.ts';
import { LazyDetails } from '../details/details-panel.tsx';
import { MessageList } from '../messages/message-list.tsx';
import { useDetails, useFolder, usePreferences, useRouter, useSelection } from '../models.ts';
import { type FileAction, useFileActions } from './culling.ts';
import { PendingFile } from './file-notices.tsx';
import { Filmstrip } from './filmstrip.tsx';
import { useFullscreen } from './fullscreen.ts';
import { useGallery } from './gallery.ts';
import { ShownFile } from './lazy-preview.tsx';
import { handleSlideshowKey, LazySlideshow, useIdle, useSlideshow } from './lazy-slideshow.tsx';
import { EDIT_KEY, useEdit } from './use-edit.ts';
import { usePaletteTool } from './use-palette.ts';
import { useViewTools } from './view-tools.ts';
import { SideSteps, ViewerHeader } from './viewer-header.tsx';
import { createViewerState, type ViewerState, type ViewerTool } from './viewer-tools.ts';
import './viewer.css';

export interface ViewerProps {
  path: string;
  /** Whether the viewer replaces `ViewerSkeleton`, and opens without an animation. */
  isInPlace: boolean;
  close: () => void;
}

/** Shows a file over the whole window, with buttons for the previous and the next file. */
export function Viewer({ path, isInPlace, close }: ViewerProps) {
  const router = useRouter();
  const details = useDetails();
  const preferences = usePreferences();
  const viewer = useViewerState();
  const gallery = useGallery(path);
  const { entry, previous, next } = gallery;
  const stage = useRef<HTMLDivElement>(null);
  const titleId = useId();
  const isFullscreen = useFullscreen();
  const isNarrow = useMedia(NARROW);
  const slideshow = useSlideshow();
  const isIdle = useIdle(slideshow.state !== 'off');

  const edit = useEdit(entry);

  const { dialog, listeners } = useModalDialog(() => (slideshow.state === 'off' ? close() : slideshow.end()));
  useFocusOfLastFile(path);
  const show = (file: FileEntry) => router.openPreview(file.path);
  const steps = { previous: previous && (() => show(previous)), next: next && (() => show(next)) };
  const actions = useFileActions({ path, gallery, show: router.openPreview, close });
  const palette = usePaletteTool(actions);
  useSwipes(dialog, { ...steps, down: close });
  useUnfocusedKeys(dialog);

  const isPhoto = entry !== undefined && previewKindOf(entry) === 'image';
  const isDark = isPhoto || (entry !== undefined && previewKindOf(entry) === 'video');
  const hasSideSteps = isDark && !isNarrow;
  const viewTools = useViewTools({ viewer, isPhoto, isFullscreen, startSlideshow: slideshow.start });
  const classes = [
    'viewer',
    isInPlace && 'in-place',
    isDark && 'dark',
    isIdle && 'idle',
    slideshow.state !== 'off' && 'slideshow',
  ];
  const header = { path, gallery, viewer, viewTools, titleId, isDark, actions };

  return (
    <dialog
      ref={dialog}
      class={classes.filter(Boolean).join(' ')}
      aria-labelledby={titleId}
      {...listeners}
      onKeyDown={(event) => {
        if (slideshow.state !== 'off' && handleSlideshowKey(event, slideshow)) return;
        handleKey(event, {
          stage: stage.current,
          tools: [
            ...viewer.tools.peek(),
            ...viewTools,
            ...actions().map(toolOf),
            ...palette,
            ...(edit ? [{ id: 'edit', keys: [EDIT_KEY], run: edit }] : []),
          ],
          characterKeys: preferences.characterKeys.peek(),
          ...steps,
        });
      }}
    >
      <div ref={viewer.frame} class="frame">
        <ViewerHeader {...header} hasSteps={!hasSideSteps} onShow={show} onClose={close} />
        {/* Has the initial focus, so that keys reach the viewer, and no button looks selected. */}
        <div ref={stage} class="stage" tabIndex={-1} autofocus>
          {entry ? <ShownFile {...{ entry, viewer }} /> : <PendingFile />}
        </div>
        {hasSideSteps && <SideSteps gallery={gallery} onShow={show} />}
        {isDark && gallery.count > 1 && <Filmstrip gallery={gallery} onShow={show} />}
        {slideshow.state !== 'off' && <LazySlideshow {...{ path, gallery, viewer, slideshow, isIdle }} onShow={show} />}
        {entry && details.isOpen.value && slideshow.state === 'off' && <LazyDetails entries={[entry]} />}
        <Announcement path={path} gallery={gallery} />
        <MessageList />
      </div>
    </dialog>
  );
}

/** Returns the state of the viewer. Releases the photos when the viewer closes. */
function useViewerState(): ViewerState {
  const { viewer, close } = useMemo(() => {
    const closing = new AbortController();
    return { viewer: createViewerState(closing.signal), close: () => closing.abort() };
  }, []);
  useEffect(() => close, []);
  return viewer;
}

/** An action of the file by its shortcuts. */
const toolOf = ({ id, keys, run }: FileAction): ViewerTool => ({
  id,
  // As in other viewers of photos.
  keys: id === 'details' ? [...keys, 'i'] : keys,
  run,
});

interface Targets {
  readonly stage: HTMLElement | null;
  readonly tools: readonly ViewerTool[];
  /** Whether single-character shortcuts are enabled. */
  readonly characterKeys: boolean;
  /** Shows the previous file. */
  readonly previous: (() => void) | undefined;
  readonly next: (() => void) | undefined;
}

/** Handles a key in the viewer. No key reaches the page behind it. */
function handleKey(event: KeyboardEvent, { stage, tools, characterKeys, previous, next }: Targets): void {
  event.stopPropagation();
  const { target } = event;
  if (event.defaultPrevented || !(target instanceof Element)) return;
  // Fields and players use most keys themselves.
  if ((isField(target) || target.closest('video, audio')) && !isKey(event, PALETTE_KEYS)) return;

  const key = keysOf(event);
  const scroller = stage?.querySelector('[data-scroller]');
  const isInScroller = scroller?.contains(target) === true;
  const isDisabledKey = key.length === 1 && !characterKeys;
  const tool = isDisabledKey
    ? undefined
    : tools.find(({ keys, button }) => keys.includes(key) && button?.disabled !== true);
  const keys = rowKeys();
  const step = { [keys.previous]: previous, [keys.next]: next }[key];
  const run = tool?.run ?? (isInScroller && scrollsAcross(scroller) ? undefined : step);
  if (run) {
    event.preventDefault();
    run();
  } else if (scroller && !isInScroller && scroll(scroller, key)) {
    event.preventDefault();
  }
}

function scrollsAcross({ scrollWidth, clientWidth }: Element): boolean {
  return scrollWidth > clientWidth;
}

/** Scrolls as the key would with the focus inside the scroller. Returns whether the key scrolls. */
function scroll(scroller: Element, key: string): boolean {
  const page = scroller.clientHeight * 0.9;
  const distance = {
    ArrowUp: -LINE_HEIGHT,
    ArrowDown: LINE_HEIGHT,
    PageUp: -page,
    PageDown: page,
    Home: -Infinity,
    End: Infinity,
  }[key];
  if (distance === undefined) return false;
  const end = distance > 0 ? scroller.scrollHeight : 0;
  scroller.scrollTop = Number.isFinite(distance) ? scroller.scrollTop + distance : end;
  return true;
}

/** Pixels that an arrow key scrolls. */
const LINE_HEIGHT = 40;

/**
 * When the viewer closes, moves the focus, and the selection of a single file, to the file that was shown last. The
 * next action then applies to the file that the user saw.
 */
function useFocusOfLastFile(path: string): void {
  const folder = useFolder();
  const selection = useSelection();
  const lastPath = useRef(path);
  lastPath.current = path;
  useLayoutEffect(
    () => () => {
      const last = lastPath.current;
      if (folder.indexOf(last) < 0) return;
      folder.focused.value = last;
      if (selection.count.peek() === 1) selection.only(last);
      queueMicrotask(() => focusNewElement(last));
    },
    [],
  );
}

/**
 * Focuses the element of an entry if the focus was lost: the one that had the focus was replaced, for example because full
 * screen changed the number of columns.
 */
function focusNewElement(path: string): void {
  if (document.activeElement !== document.body) return;
  document.querySelector<HTMLElement>(`[data-path="${CSS.escape(path)}"]`)?.focus({ preventScroll: true });
}

/** Passes keys to the dialog if the focused element was removed, such as a button of the previous file. */
function useUnfocusedKeys(dialog: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
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

/** Announces the shown file to screen readers. The label of the dialog announces the first one. */
function Announcement({ path, gallery: { index, count } }: { path: string; gallery: ReturnType<typeof useGallery> }) {
  const { text } = useFullLanguage();
  const first = useRef(path);
  return (
    <p class="visually-hidden" role="status">
      {path !== first.current &&
        (index >= 0
          ? text.previews.shown({ name: nameOf(path), position: index + 1, count })
          : shownName(nameOf(path)))}
    </p>
  );
}
