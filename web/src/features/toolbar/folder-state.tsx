import { Icon } from '../../ui/icon.tsx';
import { NARROW, useMedia } from '../../ui/media.ts';
import { MenuButton } from '../../ui/menu-button.tsx';
import { type Page, usePage } from '../page.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { orderChoices } from './appearance.ts';

/** How much is in the folder, and its order where no header of columns tells and changes it. */
export function FolderState() {
  const page = usePage();
  const isNarrow = useMedia(NARROW);
  const isOrderHere = page.preferences.view.value === 'grid' || isNarrow;
  return (
    <div class="folder-state">
      <Restriction />
      <span class="count numbers">{countOf(page)}</span>
      {isOrderHere && <OrderMenu />}
    </div>
  );
}

/** What is not possible here that usually is. */
function Restriction() {
  const { rights } = usePage();
  const { text } = useLanguage();
  const [mayRead, mayWrite, mayManage] = [rights.may('read'), rights.may('write'), rights.may('manage')];
  if (mayRead && !mayWrite && !mayManage) return <span class="restriction">{text.shell.readOnly}</span>;
  return !mayRead && mayWrite ? <span class="restriction">{text.shell.uploadOnly}</span> : null;
}

function OrderMenu() {
  const page = usePage();
  const { text } = useLanguage();
  const { by, descending } = page.preferences.order.value;
  return (
    <MenuButton
      class="tool order"
      label={text.folder.sortedBy({ column: text.folder[by], direction: descending ? 'descending' : 'other' })}
      groups={() => orderChoices(page)}
    >
      {text.folder[by]}
      <Icon name={descending ? 'chevron-down' : 'chevron-up'} />
    </MenuButton>
  );
}

function countOf({ folder, rights, language }: Page): string {
  const { text } = language.value;
  // Of what may be in a folder that one can't read, nothing is known.
  if (folder.state.value !== 'ready' || !rights.may('read')) return '';
  const count = folder.count.value;
  if (folder.filter.value.trim() !== '')
    return text.folder.filtered({ shown: folder.entries.value.length, all: count });
  return folder.listing.value === 'partial' ? text.folder.loadingMore({ count }) : text.folder.items({ count });
}
