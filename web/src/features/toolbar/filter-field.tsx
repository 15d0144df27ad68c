import { useLanguage } from '../../platform/text/language-context.ts';
import { IconButton } from '../../ui/button.tsx';
import { focusRegion } from '../../ui/focus.ts';
import { Icon } from '../../ui/icon.tsx';
import { useFolder } from '../models.ts';

/** Filters the folder by name. On a phone, the field is an icon until it is focused or has a text. */
export function FilterField() {
  const folder = useFolder();
  const { text } = useLanguage();
  const { filter } = folder;

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    if (event.key === 'ArrowDown' || event.key === 'Enter') focusRegion('list');
    else if (event.key !== 'Escape') return;
    else if (filter.value === '') focusRegion('list');
    else filter.value = '';
    // Each Escape does one thing: without this, it would also clear the selection.
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class={`filter ${filter.value === '' ? '' : 'filled'}`} role="search">
      <Icon name="search" />
      <input
        type="search"
        aria-label={text.shell.filter}
        placeholder={text.shell.filter}
        autocomplete="off"
        spellcheck={false}
        enterkeyhint="search"
        value={filter.value}
        onInput={({ currentTarget }) => {
          filter.value = currentTarget.value;
        }}
        onKeyDown={onKeyDown}
      />
      {filter.value !== '' && (
        <IconButton
          icon="close"
          label={text.shell.clearFilter}
          onClick={({ currentTarget }) => {
            filter.value = '';
            if (currentTarget instanceof Element) currentTarget.closest('.filter')?.querySelector('input')?.focus();
          }}
        />
      )}
    </div>
  );
}
