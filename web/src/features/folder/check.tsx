import type { Entry } from '../../platform/service/service.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { Icon } from '../../ui/icon.tsx';
import './entries.css';

/**
 * The box that selects an entry and leaves the others selected. A convenience for those who point: to those who listen
 * the row itself says whether it is selected, and the keyboard has the space bar.
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
