import type { Entry } from '../../platform/service/service.ts';
import { useDragging } from '../dragging/dragging.ts';
import { useChanges, useClipboard, useSelection } from '../models.ts';

/** Returns the state of an entry as attributes of its element, for rows and tiles alike. */
export function useEntryState(entry: Entry, isTabStop: boolean) {
  const selection = useSelection();
  const clipboard = useClipboard();
  const changes = useChanges();
  const dragging = useDragging();
  const { path } = entry;
  const isSelected = selection.paths.value.has(path);
  const isRenamed = changes.renaming.value === path;
  const isTarget = entry.type === 'folder' && dragging.target.value === path;
  const classes = [
    'entry',
    isSelected && 'selected',
    clipboard.isCut(path) && 'cut',
    isTarget && 'target',
    selection.revealed.value.has(path) && 'revealed',
    selection.count.value > 0 && 'choosing',
  ];
  return {
    isSelected,
    isRenamed,
    attributes: {
      class: classes.filter(Boolean).join(' '),
      'data-path': path,
      'aria-selected': isSelected,
      tabIndex: isTabStop ? 0 : -1,
      ...(entry.type === 'folder' && { 'data-drop-folder': path }),
      // A selected entry can be dragged by any part. Beside the name of any other entry, a rubber band begins.
      ...dragOf(path, isSelected && !isRenamed),
    },
    nameAttributes: dragOf(path, !isRenamed),
  };
}

/** A mouse or pen can drag, even if touch is the primary pointer. `createDragging` rejects drags by touch. */
const CAN_DRAG = window.matchMedia('(any-pointer: fine)');

function dragOf(path: string, isDraggable: boolean) {
  return isDraggable && CAN_DRAG.matches ? { draggable: true, 'data-drag-path': path } : {};
}
