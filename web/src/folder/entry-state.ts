import { usePage } from '../page.ts';
import type { Entry } from '../service/service.ts';

/** How an entry stands, as attributes of its element, which are the same in the list and among the tiles. */
export function useEntryState(entry: Entry, isTabStop: boolean) {
  const { selection, clipboard, changes, dragging } = usePage();
  const { path } = entry;
  const isSelected = selection.paths.value.has(path);
  const isRenamed = changes.renaming.value === path;
  const isTarget = entry.type === 'folder' && dragging.target.value === path;
  const classes = [
    'entry',
    isSelected && 'selected',
    clipboard.isCut(path) && 'cut',
    isTarget && 'target',
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
      // What is selected can be dragged anywhere; else a drag that begins beside the name is a rubber band.
      ...dragOf(path, isSelected && !isRenamed),
    },
    nameAttributes: dragOf(path, !isRenamed),
  };
}

/** A finger that stays means selecting, and one that moves means scrolling: they drag nothing. */
const CAN_DRAG = window.matchMedia('(pointer: fine)');

function dragOf(path: string, isDraggable: boolean) {
  return isDraggable && CAN_DRAG.matches ? { draggable: true, 'data-drag-path': path } : {};
}
