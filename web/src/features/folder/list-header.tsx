import type { OrderBy } from '../../platform/preferences.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { Icon } from '../../ui/icon.tsx';
import { useMessages, usePreferences } from '../models.ts';

/** The columns, in the order in which they stand. */
const COLUMNS: readonly OrderBy[] = ['name', 'size', 'type', 'modified'];

/** The header of the list; its buttons sort. */
export function ListHeader() {
  const preferences = usePreferences();
  const messages = useMessages();
  const { text } = useLanguage();
  const { by, descending } = preferences.order.value;

  const sort = (column: OrderBy) => {
    // What is largest and what is newest is what one looks for first.
    const isDescending = column === by ? !descending : column === 'size' || column === 'modified';
    preferences.order.value = { by: column, descending: isDescending };
    messages.announce(
      text.folder.sortedBy({ column: text.folder[column], direction: isDescending ? 'descending' : 'other' }),
    );
  };

  return (
    <div role="row" class="list-header" aria-rowindex={1}>
      {COLUMNS.map((column) => (
        <div
          key={column}
          role="columnheader"
          class={column}
          aria-sort={column === by ? (descending ? 'descending' : 'ascending') : 'none'}
        >
          <button type="button" onClick={() => sort(column)}>
            {text.folder[column]}
            {column === by && <Icon name={descending ? 'chevron-down' : 'chevron-up'} />}
          </button>
        </div>
      ))}
      <div role="columnheader" class="more">
        <span class="visually-hidden">{text.shell.actions}</span>
      </div>
    </div>
  );
}
