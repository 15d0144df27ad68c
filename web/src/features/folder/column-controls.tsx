import { useRef } from 'preact/hooks';
import { COLUMNS, type Column, type ColumnChoice } from '../../platform/preferences.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { isRightToLeft } from '../../ui/direction.ts';
import { MenuButton, type MenuGroup } from '../../ui/menus.tsx';
import { usePreferences } from '../models.ts';
import { COLUMN_WIDTHS, widthOf } from './columns.ts';

/** The menu that shows and hides columns. */
export function ColumnMenu() {
  const groups = useColumnChoices();
  const { text } = useLanguage();
  return <MenuButton icon="columns" label={text.view.columns} groups={groups} />;
}

/** Returns the columns as choices, and what resets them. */
export function useColumnChoices(): () => readonly MenuGroup[] {
  const { columns } = usePreferences();
  const { text } = useLanguage();
  return () => {
    const { hidden, widths } = columns.value;
    const items = COLUMNS.filter((column) => column !== 'name').map((column) => {
      const isChecked = !hidden.includes(column);
      const run = () => {
        const others = hidden.filter((other) => other !== column);
        columns.value = { ...columns.value, hidden: isChecked ? [...others, column] : others };
      };
      return { id: column, label: text.folder[column], isChecked, isToggle: true, run };
    });
    const reset = {
      id: 'resetColumns',
      label: text.view.resetColumns,
      isDisabled: hidden.length === 0 && Object.keys(widths).length === 0,
      run() {
        columns.value = { hidden: [], widths: {} };
      },
    };
    return [{ label: text.view.columns, items }, [reset]];
  };
}

/** `rem` by which an arrow key changes the width. */
const STEP = 1;

/** The edge of a column, which resizes it by the pointer or by the arrow keys. A double click resets the width. */
export function ColumnResizer({ column }: { column: Column }) {
  const { columns } = usePreferences();
  const { text } = useLanguage();
  const drag = useRef<{ readonly x: number; readonly width: number } | null>(null);
  const { min, max } = COLUMN_WIDTHS[column];
  const width = widthOf(column, columns.value);
  const resize = (wanted: number) => {
    const rounded = Math.round(Math.max(min, Math.min(wanted, max)) * 10) / 10;
    columns.value = { ...columns.value, widths: { ...columns.value.widths, [column]: rounded } };
  };
  const reset = () => {
    columns.value = { ...columns.value, widths: without(columns.value.widths, column) };
  };
  const forward = isRightToLeft() ? -1 : 1;

  return (
    // biome-ignore lint/a11y/useSemanticElements: A focusable separator is a widget, which `hr` is not.
    <div
      class="resizer"
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={text.view.columnWidth({ column: text.folder[column] })}
      aria-valuenow={width}
      aria-valuemin={min}
      aria-valuemax={max}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.stopPropagation();
        event.currentTarget.setPointerCapture(event.pointerId);
        drag.current = { x: event.clientX, width: shownWidth(event.currentTarget) };
      }}
      onPointerMove={({ clientX }) => {
        if (drag.current) resize(drag.current.width + ((clientX - drag.current.x) * forward) / rem());
      }}
      onLostPointerCapture={() => {
        drag.current = null;
      }}
      onDblClick={reset}
      onKeyDown={(event) => {
        const { key, currentTarget } = event;
        const from = shownWidth(currentTarget);
        if (key === 'ArrowRight') resize(from + STEP * forward);
        else if (key === 'ArrowLeft') resize(from - STEP * forward);
        else if (key === 'Home') resize(min);
        else if (key === 'End') resize(max);
        else if (key === 'Enter' || key === 'Delete') reset();
        else return;
        event.preventDefault();
        event.stopPropagation();
      }}
    />
  );
}

const rem = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize);

/** Returns the width of the column of a resizer, in `rem`. A name can be narrower than its width. */
const shownWidth = ({ parentElement }: HTMLElement) => (parentElement?.getBoundingClientRect().width ?? 0) / rem();

function without(widths: ColumnChoice['widths'], column: Column): ColumnChoice['widths'] {
  return Object.fromEntries(Object.entries(widths).filter(([name]) => name !== column));
}
