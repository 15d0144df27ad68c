import { Icon } from '../controls/icon.tsx';
import { NARROW, useMedia } from '../controls/media.ts';
import { MenuButton } from '../controls/menu-button.tsx';
import { type Page, useLanguage, usePage } from '../page.ts';
import { orderChoices } from './appearance.ts';

/** How much is in the folder, and its order where no header of columns tells and changes it. */
export function FolderState() {
  const page = usePage();
  const { text } = useLanguage();
  const isNarrow = useMedia(NARROW);
  const isOrderHere = page.preferences.view.value === 'grid' || isNarrow;
  return (
    <div class="folder-state">
      {page.readOnly && <span class="read-only">{text.shell.readOnly}</span>}
      <span class="count numbers">{countOf(page)}</span>
      {isOrderHere && <OrderMenu />}
    </div>
  );
}

function OrderMenu() {
  const page = usePage();
  const { text } = useLanguage();
  const { by, descending } = page.preferences.order.value;
  return (
    <MenuButton
      class="tool order"
      label={text.folder.sortedBy(text.folder[by], descending)}
      groups={() => orderChoices(page)}
    >
      {text.folder[by]}
      <Icon name={descending ? 'chevron-down' : 'chevron-up'} />
    </MenuButton>
  );
}

function countOf({ folder, language }: Page): string {
  const { text } = language.value;
  if (folder.state.value !== 'ready') return '';
  const count = folder.count.value;
  if (folder.filter.value.trim() !== '') return text.folder.filtered(folder.entries.value.length, count);
  return folder.listing.value === 'partial' ? text.folder.loadingMore(count) : text.folder.items(count);
}
