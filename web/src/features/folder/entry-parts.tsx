import { splitName } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { shownName } from '../../platform/text/names.ts';
import { Icon } from '../../ui/icon.tsx';
import { useDragging } from '../dragging/dragging.ts';
import { useChanges, useClipboard, useRouter, useSelection } from '../models.ts';
import { badges } from './badges.ts';
import { endOfName } from './name-end.ts';
import { useMatches } from './use-matches.ts';
import './entries.css';

/** Returns the state of an entry as attributes of its element, for rows and tiles alike. */
export function useEntryState(entry: Entry, isTabStop: boolean) {
  const selection = useSelection();
  const clipboard = useClipboard();
  const changes = useChanges();
  const dragging = useDragging();
  const { preview } = useRouter().route.value;
  const { path } = entry;
  const isSelected = selection.paths.value.has(path);
  // The viewer has a name field of its own.
  const isRenamed = changes.renaming.value === path && preview === null;
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

/**
 * The box that adds an entry to the selection. Hidden from screen readers, because the row itself has a selected state
 * and the space bar toggles it.
 */
export function Check({ entry, isSelected }: { entry: Entry; isSelected: boolean }) {
  const { text } = useLanguage();
  return (
    <span
      class={`entry-check ${isSelected ? 'on' : ''}`}
      data-check
      aria-hidden="true"
      title={text.folder.select({ name: entry.name })}
    >
      <span class="box">{isSelected && <Icon name="check" />}</span>
    </span>
  );
}

/**
 * The button for the menu of an entry, which `usePointing` opens. The Tab key skips it: the grid is one tab stop, and the
 * menu has its own key.
 */
export function MoreButton({ name }: { name: string }) {
  const { text } = useLanguage();
  return (
    <button
      class="icon-button"
      type="button"
      data-more
      tabIndex={-1}
      aria-label={text.folder.more({ name })}
      aria-haspopup="menu"
    >
      <Icon name="more" />
    </button>
  );
}

/** Shows signs such as that an entry has a share link. */
export function Badges({ path }: { path: string }) {
  const found = badges.value.get(path);
  return found ? (
    <span class="badges">
      {found.map(({ icon, label }) => (
        <span key={icon} role="img" aria-label={label} title={label}>
          <Icon name={icon} />
        </span>
      ))}
    </span>
  ) : null;
}

/** The name of a file or folder within other text. Its direction does not affect the text around it. */
export function Name({ of }: { of: string }) {
  return <bdi>{shownName(of)}</bdi>;
}

/**
 * The name of an entry in a row or tile. Of a long name, both its start and its end stay visible, because cameras and scanners create
 * names that differ only at their ends.
 */
export function EntryName({ entry }: { entry: Entry }) {
  const name = shownName(entry.name);
  const stem = entry.type === 'file' ? splitName(name).stem : name;
  const end = endOfName(name, stem);
  const mark = useMatches();
  return (
    <>
      {/* As one element, because screen readers would pause between the parts. */}
      <span class="visually-hidden">{name}</span>
      <bdi class="entry-name" title={entry.name} aria-hidden="true">
        <span class="stem">{mark(name, 0, end)}</span>
        {end < name.length && <span class="tail">{mark(name, end)}</span>}
      </bdi>
    </>
  );
}
