import type { Signal } from '@preact/signals';
import { isOldestFirst } from '../../model/folder/order.ts';
import {
  COLUMNS,
  type Density,
  type Preferences,
  type Theme,
  TILE_SIZE_NAMES,
  type View,
} from '../../platform/preferences.ts';
import type { InitialText } from '../../platform/text/language.ts';
import { LANGUAGE_TAGS, LANGUAGES } from '../../platform/text/supported-languages.ts';
import type { MenuGroup, MenuItem } from '../../ui/menus.tsx';
import type { Actions } from '../actions/use-actions.ts';

interface SettingsOptions {
  readonly preferences: Preferences;
  readonly actions: Actions;
  readonly text: InitialText;
  /** Shows the keyboard shortcuts, on pages that have some. */
  readonly showShortcuts?: (() => void) | undefined;
  /** Whether the menu contains the views of the folder. */
  readonly hasViews?: boolean | undefined;
}

/** Returns the menu of the settings. */
export function settingsMenu(options: SettingsOptions): readonly MenuGroup[] {
  const { preferences, text, hasViews = false } = options;
  return [
    ...(hasViews ? viewChoices(preferences, text) : []),
    ...appearanceChoices(preferences, text),
    otherItems(options),
  ];
}

/** Connecting a client concerns the user rather than the folder, so that the settings offer it as well. */
function otherItems({ actions, text, showShortcuts: run }: SettingsOptions): readonly MenuItem[] {
  const connect = actions.available('connect');
  return [
    ...(connect ? [actions.menuItem(connect)] : []),
    ...(run ? [{ id: 'shortcuts', label: text.shell.shortcuts, icon: 'keyboard' as const, keys: '?', run }] : []),
  ];
}

/** Returns the menu of the theme, the density and the language. */
function appearanceChoices(preferences: Preferences, { shell }: InitialText): readonly MenuGroup[] {
  const themes: readonly Theme[] = ['system', 'light', 'dark'];
  const densities: readonly Density[] = ['comfortable', 'compact'];
  return [
    choices(shell.theme, preferences.theme, themes, (theme) => shell.themes[theme]),
    choices(shell.density, preferences.density, densities, (density) => shell.densities[density]),
    choices(shell.language, preferences.language, ['', ...LANGUAGE_TAGS], (tag) =>
      tag === '' ? shell.languageOfBrowser : LANGUAGES[tag].name,
    ),
  ];
}

/** Returns the menus of the view and of the size of its tiles. */
function viewChoices({ view, tileSize }: Preferences, { shell, view: text }: InitialText): readonly MenuGroup[] {
  const views: readonly View[] = ['list', 'grid', 'photos'];
  const sizes = TILE_SIZE_NAMES.map((name, size): MenuItem => {
    const run = () => {
      tileSize.value = size;
    };
    return { id: name, label: text.tileSizes[name], isChecked: tileSize.value === size, run };
  });
  return [
    choices(shell.view, view, views, (name) => shell[`${name}View`]),
    ...(view.value === 'list' ? [] : [{ label: text.tileSize, items: sizes }]),
  ];
}

/** Returns the menu of the order of photos. */
export function photoOrderChoices({ order }: Preferences, { view }: InitialText): readonly MenuGroup[] {
  const isOldest = isOldestFirst(order.value);
  return [
    [false, true].map((oldest) => ({
      id: oldest ? 'oldest' : 'newest',
      label: oldest ? view.oldestFirst : view.newestFirst,
      isChecked: oldest === isOldest,
      run: () => {
        order.value = { by: 'modified', descending: !oldest };
      },
    })),
  ];
}

/** Returns the menu of the columns and the direction by which the entries are sorted. */
export function orderChoices({ order }: Preferences, { folder, shell }: InitialText): readonly MenuGroup[] {
  const directions = [false, true] as const;
  return [
    COLUMNS.map((by) => ({
      id: by,
      label: folder[by],
      isChecked: order.value.by === by,
      run: () => {
        order.value = { ...order.value, by };
      },
    })),
    directions.map((descending) => ({
      id: descending ? 'descending' : 'ascending',
      label: descending ? shell.descending : shell.ascending,
      isChecked: order.value.descending === descending,
      run: () => {
        order.value = { ...order.value, descending };
      },
    })),
  ];
}

/** Returns menu items that set a signal to one of some values. */
function choices<Choice extends string>(
  label: string,
  chosen: Signal<Choice>,
  all: readonly Choice[],
  nameOf: (choice: Choice) => string,
): MenuGroup {
  const items = all.map((choice): MenuItem => {
    const run = () => {
      chosen.value = choice;
    };
    return { id: choice, label: nameOf(choice), isChecked: chosen.value === choice, run };
  });
  return { label, items };
}
