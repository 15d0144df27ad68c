import type { ComponentType, RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { nameOf } from '../../platform/paths.ts';
import { type PreviewKind, previewKindOf } from '../../platform/preview-kinds.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { shownName } from '../../platform/text/names.ts';
import { rowKeys } from '../../ui/direction.ts';
import { isField, keysOf } from '../../ui/keyboard.ts';
import { useLoaded } from '../../ui/loading.ts';
import { useModalDialog } from '../../ui/modal.ts';
import { useSwipes } from '../../ui/use-swipes.ts';
import { type Actions, useActions } from '../actions/actions.ts';
import { LazyDetails } from '../details/details-panel.tsx';
import { MessageList } from '../messages/message-list.tsx';
import { useDetails, useFolder, usePreferences, useRouter, useSelection, useVisit } from '../models.ts';
import { CountedFile, NoPreview, PendingFile } from './file-notices.tsx';
import { useGallery } from './gallery.ts';
import { Loading, NotLoadedNotice } from './notices.tsx';
import { EDIT_KEY, useEdit } from './use-edit.ts';
import { ViewerHeader } from './viewer-header.tsx';
import { createViewerState, type PreviewProps, type ViewerTool } from './viewer-tools.ts';
import './viewer.css';

export interface ViewerProps {
  path: string;
  /** Whether the viewer replaces `ViewerSkeleton`, and opens without an animation. */
  isInPlace: boolean;
  close: () => void;
}

/** Shows a file over the whole window, with buttons for the previous and the next file. */
export function Viewer({ path, isInPlace, close }: ViewerProps) {
  const actions = useActions();
  const router = useRouter();
  const details = useDetails();
  const preferences = usePreferences();
  const viewer = useMemo(createViewerState, []);
  const gallery = useGallery(path);
  const { entry, previous, next } = gallery;
  const stage = useRef<HTMLDivElement>(null);
  const titleId = useId();

  const edit = useEdit(entry);

  const { dialog, listeners } = useModalDialog(close);
  useFocusOfLastFile(path);
  const show = (file: FileEntry) => router.openPreview(file.path);
  const steps = { previous: previous && (() => show(previous)), next: next && (() => show(next)) };
  useSwipes(dialog, { ...steps, down: close });
  useUnfocusedKeys(dialog);

  return (
    <dialog
      ref={dialog}
      class={`viewer ${isInPlace ? 'in-index' : ''}`}
      aria-labelledby={titleId}
      {...listeners}
      onKeyDown={(event) =>
        handleKey(event, {
          stage: stage.current,
          tools: [
            ...viewer.tools.peek(),
            detailsTool(actions),
            ...(edit ? [{ id: 'edit', keys: [EDIT_KEY], run: edit }] : []),
          ],
          characterKeys: preferences.characterKeys.peek(),
          ...steps,
        })
      }
    >
      <ViewerHeader {...{ path, gallery, viewer, titleId }} onShow={show} onClose={close} />
      {/* Has the initial focus, so that keys reach the viewer, and no button looks selected. */}
      <div ref={stage} class="stage" tabIndex={-1} autofocus>
        {entry ? <LazyPreview key={`${path} ${entry.etag}`} {...{ entry, viewer }} /> : <PendingFile />}
      </div>
      {entry && details.isOpen.value && <LazyDetails entries={[entry]} />}
      <Announcement path={path} gallery={gallery} />
      <MessageList />
    </dialog>
  );
}

/** The preview of a file. The code of each kind loads when the first file of that kind is shown. */
export function LazyPreview(props: PreviewProps) {
  const visit = useVisit();
  const kind = previewKindOf(props.entry);
  if (visit?.countsDownloads) return <CountedFile visit={visit} entry={props.entry} />;
  return kind === 'none' ? <NoPreview {...props} /> : <LoadedPreview kind={kind} {...props} />;
}

type LazyKind = Exclude<PreviewKind, 'none'>;

const media = () => import('./media/media-preview.tsx').then(({ MediaPreview }) => MediaPreview);

const MODULES: Readonly<Record<LazyKind, () => Promise<ComponentType<PreviewProps>>>> = {
  image: () => import('./image/image-preview.tsx').then(({ ImagePreview }) => ImagePreview),
  video: media,
  audio: media,
  pdf: () => import('./pdf/pdf-preview.tsx').then(({ PdfPreview }) => PdfPreview),
  markdown: () => import('./markdown/markdown-preview.tsx').then(({ MarkdownPreview }) => MarkdownPreview),
  json: () => import('./json/json-preview.tsx').then(({ JsonPreview }) => JsonPreview),
  table: () => import('./table/table-preview.tsx').then(({ TablePreview }) => TablePreview),
  office: () => import('./office/office-preview.tsx').then(({ OfficePreview }) => OfficePreview),
  text: () => import('./text/text-preview.tsx').then(({ TextPreview }) => TextPreview),
};

/** The loaded previews, so that the next file of a kind appears immediately. */
const loadedPreviews = new Map<LazyKind, ComponentType<PreviewProps>>();

function LoadedPreview({ kind, ...props }: PreviewProps & { kind: LazyKind }) {
  const loaded = useLoaded(async () => {
    if (!loadedPreviews.has(kind)) loadedPreviews.set(kind, await MODULES[kind]());
  });

  const Component = loadedPreviews.get(kind);
  if (Component) return <Component {...props} />;
  return loaded.state === 'failed' ? <NotLoadedNotice retry={loaded.retry} /> : <Loading />;
}

/** Returns the tool for the page's action "Details". */
function detailsTool(actions: Actions): ViewerTool {
  const action = actions.available('details');
  return { id: 'details', keys: action?.keys ?? [], run: () => action?.run() };
}

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
  if (isField(target) || target.closest('video, audio')) return;

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
      if (folder.indexOf(lastPath.current) < 0) return;
      folder.focused.value = lastPath.current;
      if (selection.count.peek() === 1) selection.only(lastPath.current);
    },
    [],
  );
}

/** Passes keys to the dialog if the focused element was removed, such as a button of the previous file. */
function useUnfocusedKeys(dialog: RefObject<HTMLElement | null>): void {
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
