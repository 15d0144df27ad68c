import { batch } from '@preact/signals';
import { isWritableTarget } from '../../model/folder/folder.ts';
import { EdgeScroll } from '../../ui/edge-scroll.ts';
import { isField, isMac, isModalOpen } from '../../ui/keyboard.ts';
import { type DraggedEntries, startDrag } from './drag-source.ts';
import type { DraggingOptions, DragKind, DragState } from './drag-state.ts';
import { acceptsEntries, createSpringLoading, isInside, type Rejection, targetOfFiles } from './drop-target.ts';
import './dragging.css';

/** Milliseconds without a drag event after which the drag has ended. Browsers send them at least twice as often. */
const SILENCE_MS = 1_000;

/** Pixels from the upper and lower edges of the list at which a drag scrolls it. */
const SCROLL_EDGE = 56;

/** Handles the drags of the page, and updates their state, for the lifetime of the page. */
export function handleDrags(options: DraggingOptions, { kind, target, rejection, count, isCopy }: DragState): void {
  const { folder, router, changes, uploads, messages, language, permissions } = options;
  const edgeScroll = new EdgeScroll(SCROLL_EDGE);
  const pointer = trackPointer();
  /** Remains while the drag is outside the window, because it can return. */
  let dragged: DraggedEntries | null = null;
  let silence: ReturnType<typeof setTimeout> | undefined;

  /** Whether the drag has opened folders, which together are one history entry. */
  let hasOpened = false;
  const spring = createSpringLoading((path) => {
    router.go({ folder: path, preview: null }, { replace: hasOpened });
    hasOpened = true;
  });

  const leave = () => {
    clearTimeout(silence);
    spring.end();
    edgeScroll.stop();
    batch(() => {
      kind.value = null;
      target.value = null;
      rejection.value = null;
    });
  };
  /** Ends the drag. Without a drop, the page returns to the folder in which the drag began. */
  const end = (isDropped = false) => {
    dragged = null;
    pointer.release();
    leave();
    if (hasOpened && !isDropped) history.back();
    hasOpened = false;
  };
  /** A drag of files ends when it leaves the window; a drag of entries ends with `dragend`. */
  const leaveWindow = () => (dragged ? leave() : end());

  /** Returns the kind of the dragged items; null for items that the page does not accept, such as text or links. */
  const kindOf = ({ types }: DataTransfer): DragKind | null =>
    dragged ? 'entries' : types.includes('Files') && !router.route.value.view ? 'files' : null;

  /** Updates the drop target and sets the drop effect of the event. */
  const update = (event: DragEvent, transfer: DataTransfer) => {
    const dragKind = kindOf(transfer);
    const pointed = dragKind && folderAt(event.target);
    const paths = dragKind === 'entries' ? (dragged?.paths ?? []) : [];
    const found: { folder?: string; rejection?: Rejection } = findTarget(options, dragKind, pointed, paths);
    const copies = dragKind === 'files' || dragged?.canMove === false || (isMac ? event.altKey : event.ctrlKey);
    event.preventDefault();
    // With the effect `none`, no `drop` event fires, and the page could not explain why it rejects files.
    transfer.dropEffect = dragKind !== 'files' && found.folder === undefined ? 'none' : copies ? 'copy' : 'move';
    batch(() => {
      kind.value = dragKind;
      target.value = found.folder ?? null;
      rejection.value = found.rejection ?? null;
      count.value = paths.length;
      isCopy.value = copies;
    });
    const canOpen =
      pointed !== null &&
      pointed !== folder.path.value &&
      !permissions.isReadOnly &&
      !paths.some((path) => isInside(pointed, path));
    spring.over(canOpen ? pointed : null, { x: event.clientX, y: event.clientY });
    if (event.target instanceof Element) edgeScroll.update(event.target.closest('[data-scroller]'), event.clientY);
    clearTimeout(silence);
    silence = setTimeout(leaveWindow, SILENCE_MS);
  };

  document.addEventListener('dragstart', (event) => {
    // A long press selects and a moving finger scrolls, so touch never drags.
    if (pointer.isTouch) return event.preventDefault();
    dragged = startDrag(event, options);
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
      if (kindOf(dataTransfer) || !isField(event.target)) update(event, dataTransfer);
    });
  }
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null && isOutside(event)) leaveWindow();
  });
  document.addEventListener('dragend', () => end());
  document.addEventListener('drop', (event) => {
    const { dataTransfer } = event;
    if (!dataTransfer || (!kindOf(dataTransfer) && isField(event.target))) return;
    update(event, dataTransfer);
    const [dropped, into, reason, paths] = [kind.value, target.value, rejection.value, dragged?.paths];
    end(into !== null);
    if (dropped === 'files' && reason) messages.show({ kind: 'error', text: language.value.text.dragging[reason] });
    if (into === null) return;
    if (dropped === 'files') uploads.addFrom(dataTransfer, into);
    else if (paths) void changes.transfer(isCopy.value ? 'copy' : 'move', paths, into);
  });
}

/** Returns the folder that accepts the dragged items, or why files are rejected. */
function findTarget(
  { folder, permissions }: DraggingOptions,
  kind: DragKind | null,
  pointed: string | null,
  paths: readonly string[],
) {
  const { isReadOnly } = permissions;
  const mayWrite = (path: string) => permissions.allowsIn(path, 'write');
  if (kind === 'files') {
    const shown = isWritableTarget(folder) ? folder.path.value : null;
    return targetOfFiles({ pointed, shown, isReadOnly, isDialogOpen: isModalOpen(), mayWrite });
  }
  if (kind && isReadOnly) return { rejection: 'readOnly' } as const;
  return kind && pointed !== null && acceptsEntries(pointed, paths) && mayWrite(pointed) ? { folder: pointed } : {};
}

/** Tracks whether a drag starts by touch. A touch while the mouse button is down does not change a mouse drag. */
function trackPointer() {
  let isMousePressed = false;
  let isTouch = false;
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
  return {
    get isTouch() {
      return isTouch;
    },
    /** Records the end of a drag: the browser sends no `pointerup` for it. */
    release() {
      isMousePressed = false;
    },
  };
}

/** Returns the destination folder of the element; null if it is no drop target. */
function folderAt(element: EventTarget | null): string | null {
  const dropTarget = element instanceof Element ? element.closest<HTMLElement>('[data-drop-folder]') : null;
  return dropTarget?.dataset['dropFolder'] ?? null;
}

/** Returns whether the pointer has left the window. Safari sends every `dragleave` without a related element. */
function isOutside({ clientX, clientY }: DragEvent): boolean {
  return clientX <= 0 || clientY <= 0 || clientX >= window.innerWidth || clientY >= window.innerHeight;
}
