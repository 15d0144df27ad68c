import { useLanguage } from '../../platform/text/language-context.ts';
import { Icon } from '../../ui/icon.tsx';

/**
 * Opens the menu of the entry that it stands in, by way of `usePointing`. The keyboard has a key of its own for that,
 * and the grid is one stop of the Tab key as a whole.
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
