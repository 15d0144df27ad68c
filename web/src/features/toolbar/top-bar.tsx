import type { View } from '../../platform/preferences.ts';
import { useLanguage } from '../../platform/text/language.ts';
import { IconButton } from '../../ui/button.tsx';
import { focusRegion } from '../../ui/focus.ts';
import { Icon } from '../../ui/icon.tsx';
import { keyLabel } from '../../ui/keyboard.ts';
import { MenuButton } from '../../ui/menus.tsx';
import { NARROW, useMedia } from '../../ui/responsive.ts';
import { useActions } from '../actions/actions.ts';
import { useShortcutsDialog } from '../actions/shortcuts.ts';
import { useDetails, useFolder, usePreferences } from '../models.ts';
import { SidebarButton } from '../sidebar/sidebar-slot.tsx';
import { AccountButton } from '../sign-in/account-button.tsx';
import { Breadcrumb } from './breadcrumb.tsx';
import './top-bar.css';

/** The bar at the top: the path of the folder, the filter, the settings and the account. */
export function TopBar() {
  const isNarrow = useMedia(NARROW);
  const showShortcuts = useShortcutsDialog();
  return (
    <header class="top-bar" data-region="top">
      <SidebarButton />
      <Breadcrumb />
      <FilterField />
      {isNarrow ? (
        <SettingsButton showShortcuts={showShortcuts} hasViews />
      ) : (
        <WideControls showShortcuts={showShortcuts} />
      )}
      <AccountButton />
    </header>
  );
}

/** Filters the folder by name. On a phone, the field is an icon until it is focused or has a text. */
function FilterField() {
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
        dir="auto"
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

const VIEWS: readonly View[] = ['list', 'grid', 'photos'];

function WideControls({ showShortcuts }: { showShortcuts: () => void }) {
  const preferences = usePreferences();
  const { isOpen } = useDetails();
  const actions = useActions();
  const details = actions.available('details');
  const { text } = useLanguage();
  const { view } = preferences;
  return (
    <>
      <div class="switch" role="group" aria-label={text.shell.view}>
        {VIEWS.map((name) => (
          <IconButton
            key={name}
            icon={name === 'photos' ? 'image' : name}
            label={text.shell[`${name}View`]}
            pressed={view.value === name}
            onClick={() => {
              view.value = name;
            }}
          />
        ))}
      </div>
      <div class="controls">
        <SettingsButton showShortcuts={showShortcuts} />
        <IconButton
          icon="details"
          label={text.actions.details}
          shortcut={details?.keys[0] && keyLabel(details.keys[0])}
          pressed={isOpen.value}
          onClick={() => details?.run()}
        />
      </div>
    </>
  );
}

interface SettingsProps {
  /** Shows the keyboard shortcuts, on pages that have some. */
  showShortcuts?: () => void;
  /** Whether the menu contains the views of the folder. */
  hasViews?: boolean;
}

/** The menu of the theme, the density and the language. */
export function SettingsButton(props: SettingsProps) {
  const preferences = usePreferences();
  const actions = useActions();
  const { text } = useLanguage();
  const groups = async () => (await import('./choices.ts')).settingsMenu({ ...props, preferences, actions, text });
  return <MenuButton icon="settings" label={text.shell.settings} groups={groups} />;
}
