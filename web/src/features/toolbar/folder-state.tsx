import { useLanguage } from '../../platform/text/language-context.ts';
import { Icon } from '../../ui/icon.tsx';
import { MenuButton } from '../../ui/menus.tsx';
import { NARROW, useMedia } from '../../ui/responsive.ts';
import { useFolder, usePermissions, usePreferences } from '../models.ts';
import { orderChoices } from './appearance.ts';

/** How much is in the folder, and its order where no header of columns tells and changes it. */
export function FolderState() {
  const preferences = usePreferences();
  const isNarrow = useMedia(NARROW);
  const isOrderHere = preferences.view.value === 'grid' || isNarrow;
  return (
    <div class="folder-state">
      <Restriction />
      <Count />
      {isOrderHere && <OrderMenu />}
    </div>
  );
}

/** What is not possible here that usually is. */
function Restriction() {
  const permissions = usePermissions();
  const { text } = useLanguage();
  const [mayRead, mayWrite, mayManage] = [
    permissions.allows('read'),
    permissions.allows('write'),
    permissions.allows('manage'),
  ];
  if (mayRead && !mayWrite && !mayManage) return <span class="restriction">{text.shell.readOnly}</span>;
  return !mayRead && mayWrite ? <span class="restriction">{text.shell.uploadOnly}</span> : null;
}

function OrderMenu() {
  const preferences = usePreferences();
  const { text } = useLanguage();
  const { by, descending } = preferences.order.value;
  return (
    <MenuButton
      class="tool order"
      label={text.folder.sortedBy({ column: text.folder[by], direction: descending ? 'descending' : 'other' })}
      groups={() => orderChoices(preferences, text)}
    >
      {text.folder[by]}
      <Icon name={descending ? 'chevron-down' : 'chevron-up'} />
    </MenuButton>
  );
}

/** The number of entries; empty if the user can't list the folder. */
function Count() {
  const folder = useFolder();
  const permissions = usePermissions();
  const { text } = useLanguage();
  let count = '';
  if (folder.state.value === 'ready' && permissions.allows('read')) {
    const all = folder.count.value;
    if (folder.filter.value.trim() !== '') count = text.folder.filtered({ shown: folder.entries.value.length, all });
    else
      count =
        folder.listing.value === 'partial'
          ? text.folder.loadingMore({ count: all })
          : text.folder.items({ count: all });
  }
  return <span class="count numbers">{count}</span>;
}
