import { isOldestFirst } from '../../model/folder/order.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { IconButton } from '../../ui/button.tsx';
import { deferred } from '../../ui/deferred.tsx';
import { Icon } from '../../ui/icon.tsx';
import { keyLabel } from '../../ui/keyboard.ts';
import { MenuButton } from '../../ui/menus.tsx';
import { NARROW, useMedia } from '../../ui/responsive.ts';
import { countLabel } from '../folder/count-label.ts';
import { useFolder, usePermissions, usePreferences, useSelection, useVisit } from '../models.ts';
import { Tools } from './tools.tsx';
import './toolbar.css';

/** The actions for the selection or the folder, and the state of the folder. On a phone, the actions are at the bottom. */
export function Toolbar() {
  const selection = useSelection();
  const { text } = useLanguage();
  const count = selection.count.value;
  const isSelection = count > 0;
  return (
    <div class={`toolbar ${isSelection ? 'of-selection' : 'of-folder'}`} data-region="toolbar">
      {isSelection && (
        <div class="selected">
          <IconButton
            icon="close"
            label={text.shell.clearSelection}
            shortcut={keyLabel('Escape')}
            onClick={() => selection.clear()}
          />
          <span class="numbers">{text.shell.selected({ count })}</span>
        </div>
      )}
      <Tools key={String(isSelection)} isSelection={isSelection} />
      <FolderState />
    </div>
  );
}

const TileSize = deferred(async () => (await import('../folder/tile-size.tsx')).TileSize);

function FolderState() {
  const preferences = usePreferences();
  const isNarrow = useMedia(NARROW);
  const view = preferences.view.value;
  // The header of the list sorts.
  const canSort = view !== 'list' || isNarrow;
  return (
    <div class="folder-state">
      <Restriction />
      <Count />
      {view !== 'list' && !isNarrow && <TileSize />}
      {canSort && <OrderMenu />}
    </div>
  );
}

/** Shows that the user can only read the folder, or only upload to it. For visitors, shows the conditions of the link. */
function Restriction() {
  const permissions = usePermissions();
  const visit = useVisit();
  const { text } = useLanguage();
  if (visit) return visit.conditions.value && <span class="restriction">{visit.conditions.value}</span>;
  const canRead = permissions.allows('read');
  const canWrite = permissions.allows('write');
  if (canRead && !canWrite && !permissions.allows('manage')) {
    return <span class="restriction">{text.shell.readOnly}</span>;
  }
  return !canRead && canWrite ? <span class="restriction">{text.shell.uploadOnly}</span> : null;
}

/** The number of entries; empty if the user can't list the folder. */
function Count() {
  const folder = useFolder();
  const permissions = usePermissions();
  const { text } = useLanguage();
  let count = '';
  if (folder.state.value === 'ready' && permissions.allows('read')) {
    const shown = folder.entries.value.length;
    if (folder.filter.value.trim() === '') count = countLabel(folder, text);
    else count = text.folder.filtered({ shown, all: folder.count.value });
  }
  return <span class="count numbers">{count}</span>;
}

function OrderMenu() {
  const preferences = usePreferences();
  const { text } = useLanguage();
  const order = preferences.order.value;
  const isOfPhotos = preferences.view.value === 'photos';
  const isDescending = isOfPhotos || order.descending;
  const { newestFirst, oldestFirst } = text.view;
  const name = isOfPhotos ? (isOldestFirst(order) ? oldestFirst : newestFirst) : text.folder[order.by];
  const direction = isDescending ? 'descending' : 'other';
  return (
    <MenuButton
      class="tool order"
      label={isOfPhotos ? name : text.folder.sortedBy({ column: name, direction })}
      groups={async () => {
        const choices = await import('./choices.ts');
        return (isOfPhotos ? choices.photoOrderChoices : choices.orderChoices)(preferences, text);
      }}
    >
      {name}
      <Icon name={isDescending ? 'chevron-down' : 'chevron-up'} />
    </MenuButton>
  );
}
