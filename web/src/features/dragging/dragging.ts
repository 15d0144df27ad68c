import { batch, type ReadonlySignal, signal } from '@preact/signals';
import type { Permissions } from '../../model/account/permissions.ts';
import type { Changes } from '../../model/changes/changes.ts';
import { type Folder, isWritableTarget } from '../../model/folder/folder.ts';
import type { Messages } from '../../model/messages.ts';
import type { Selection } from '../../model/selection.ts';
import type { Uploads } from '../../model/uploads/uploads.ts';
import { createRequiredContext } from '../../platform/required-context.ts';
import type { Router } from '../../platform/router.ts';
import type { Urls } from '../../platform/service/urls.ts';
import type { Language } from '../../platform/text/language.ts';
import { isMac } from '../../ui/keys.ts';
import { isDialogInFront, isText } from '../../ui/writing.ts';
import { createAutoScroll } from './auto-scroll.ts';
import { beginDrag, type Dragged } from './dragged-entries.ts';
import { canTake, isOnTheWay, type Refusal, targetOfFiles } from './drop-target.ts';
import { createSpring } from './spring.ts';

/**
 * Drags entries of the page and accepts files of other programs. An element with `data-drop-folder` is a drop target
 * for both; elsewhere, files go into the shown folder. A `draggable` element with `data-drag-path` can be dragged,
 * together with the selection if it is selected.
 */
export interface Dragging {
  /** The kind of the dragged items; null without a drag over the page. */
  readonly what: ReadonlySignal<'entries' | 'files' | null>;
  /** The destination folder of a drop; null if no folder accepts it. */
  readonly target: ReadonlySignal<string | null>;
  /** Why a drop would fail here; null if it would succeed, and for dragged entries that are not over a folder. */
  readonly refusal: ReadonlySignal<Refusal | null>;
  /** The number of dragged entries. */
  readonly count: ReadonlySignal<number>;
  readonly isCopy: ReadonlySignal<boolean>;
}

export const [useDragging, DraggingProvider] = createRequiredContext<Dragging>('dragging');

export interface DraggingOptions {
  readonly folder: Folder;
  readonly router: Router;
  readonly selection: Selection;
  readonly changes: Changes;
  readonly uploads: Uploads;
  readonly messages: Messages;
  readonly urls: Urls;
  readonly language: ReadonlySignal<Language>;
  readonly permissions: Permissions;
}

/** Milliseconds without a drag event after which the drag has ended. Browsers send them at least twice as often. */
const SILENCE_MS = 1_000;

/** Creates the drag handlers. Its listeners stay for the lifetime of the page. */
export function createDragging(options: DraggingOptions): Dragging {
  const { folder, router, changes, uploads, messages, language, permissions } = options;
  const what = signal<'entries' | 'files' | null>(null);
  const target = signal<string | null>(null);
  const refusal = signal<Refusal | null>(null);
  const count = signal(0);
  const isCopy = signal(false);
  const autoScroll = createAutoScroll();
  /** Kept while the drag is outside the window, because it may return. */
  let dragged: Dragged | null = null;
  let silence: ReturnType<typeof setTimeout> | undefined;
  let isMousePressed = false;
  let isTouch = false;

  /** Whether the drag has opened folders, which together are one history entry. */
  let hasOpened = false;
  const spring = createSpring((path) => {
    router.go({ folder: path, preview: null }, { replace: hasOpened });
    hasOpened = true;
  });

  const leave = () => {
    clearTimeout(silence);
    spring.end();
    autoScroll.end();
    batch(() => {
      what.value = null;
      target.value = null;
      refusal.value = null;
    });
  };
  /** Ends the drag. Without a drop, the page returns to the folder in which the drag began. */
  const end = (isDropped = false) => {
    dragged = null;
    isMousePressed = false;
    leave();
    if (hasOpened && !isDropped) history.back();
    hasOpened = false;
  };
  /** A drag of files ends when it leaves the window; a drag of entries ends with `dragend`. */
  const leaveWindow = () => (dragged ? leave() : end());

  /** Returns the kind of the dragged items; null for items that the page doesn't accept, such as text or links. */
  const kindOf = ({ types }: DataTransfer): 'entries' | 'files' | null =>
    dragged ? 'entries' : types.includes('Files') ? 'files' : null;

  const targetOf = (kind: 'entries' | 'files' | null, pointed: string | null, paths: readonly string[]) => {
    const { isReadOnly } = permissions;
    const mayWrite = (path: string) => permissions.allowsIn(path, 'write');
    if (kind === 'files') {
      const shown = isWritableTarget(folder) ? folder.path.value : null;
      return targetOfFiles({ pointed, shown, isReadOnly, isDialogOpen: isDialogInFront(), mayWrite });
    }
    if (kind && isReadOnly) return { refusal: 'readOnly' } as const;
    return kind && pointed !== null && canTake(pointed, paths) && mayWrite(pointed) ? { folder: pointed } : {};
  };

  /** Updates the drop target and sets the drop effect of the event. */
  const follow = (event: DragEvent, transfer: DataTransfer) => {
    const kind = kindOf(transfer);
    const pointed = kind && folderAt(event.target);
    const paths = kind === 'entries' ? (dragged?.paths ?? []) : [];
    const found: { folder?: string; refusal?: Refusal } = targetOf(kind, pointed, paths);
    const copies = kind === 'files' || dragged?.canMove === false || (isMac ? event.altKey : event.ctrlKey);
    event.preventDefault();
    // With the effect `none`, no `drop` event fires, and the page could not explain why it rejects files.
    transfer.dropEffect = kind !== 'files' && found.folder === undefined ? 'none' : copies ? 'copy' : 'move';
    batch(() => {
      what.value = kind;
      target.value = found.folder ?? null;
      refusal.value = found.refusal ?? null;
      count.value = paths.length;
      isCopy.value = copies;
    });
    const canOpen =
      pointed !== null &&
      pointed !== folder.path.value &&
      !permissions.isReadOnly &&
      !paths.some((path) => isOnTheWay(pointed, path));
    spring.over(canOpen ? pointed : null, { x: event.clientX, y: event.clientY });
    if (event.target instanceof Element) autoScroll.over(event.target, event.clientY);
    clearTimeout(silence);
    silence = setTimeout(leaveWindow, SILENCE_MS);
  };

  // Tracks each pointer separately: a touch while the mouse button is down does not turn a mouse drag into a touch
  // drag.
  for (const type of ['pointerdown', 'pointerup'] as const) {
    document.addEventListener(
      type,
      ({ pointerType }) => {
        const isFinger = pointerType === 'touch';
        if (!isFinger) isMousePressed = type === 'pointerdown';
        isTouch = isFinger && !isMousePressed;
      },
      true,
    );
  }
  document.addEventListener('dragstart', (event) => {
    // A long press selects and a moving finger scrolls, so touch never drags.
    if (isTouch) return event.preventDefault();
    dragged = beginDrag(event, options);
    // The document does not receive `dragend` from a row that is no longer rendered.
    dragged?.source.addEventListener('dragend', () => end(), { once: true });
  });
  // `dragenter` fires for each element that the drag enters, `dragover` many times a second.
  for (const type of ['dragenter', 'dragover'] as const) {
    document.addEventListener(type, (event) => {
      const { dataTransfer } = event;
      if (!dataTransfer) return;
      // A drag from elsewhere proves that the page's own drag has ended, even without a `dragend`.
      if (dragged && !dataTransfer.types.includes(dragged.type)) dragged = null;
      // Text can be dropped into a field. For anything else, the browser would navigate away.
      if (kindOf(dataTransfer) || !isText(event.target)) follow(event, dataTransfer);
    });
  }
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null && isOutside(event)) leaveWindow();
  });
  document.addEventListener('dragend', () => end());
  document.addEventListener('drop', (event) => {
    const { dataTransfer } = event;
    if (!dataTransfer || (!kindOf(dataTransfer) && isText(event.target))) return;
    follow(event, dataTransfer);
    const [kind, into, why, paths] = [what.value, target.value, refusal.value, dragged?.paths];
    end(into !== null);
    if (kind === 'files' && why) messages.say({ kind: 'error', text: language.value.text.dragging[why] });
    if (into === null) return;
    if (kind === 'files') uploads.addFrom(dataTransfer, into);
    else if (paths) void changes.transfer(isCopy.value ? 'copy' : 'move', paths, into);
  });

  return { what, target, refusal, count, isCopy };
}

/** Returns the destination folder of the element; null if it is no drop target. */
function folderAt(element: EventTarget | null): string | null {
  const taker = element instanceof Element ? element.closest<HTMLElement>('[data-drop-folder]') : null;
  return taker?.dataset['dropFolder'] ?? null;
}

/** Returns whether the pointer has left the window. Safari sends every `dragleave` without a related element. */
function isOutside({ clientX, clientY }: DragEvent): boolean {
  return clientX <= 0 || clientY <= 0 || clientX >= window.innerWidth || clientY >= window.innerHeight;
}
