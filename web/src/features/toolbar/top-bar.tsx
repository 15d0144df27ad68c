import { useLanguage } from '../../platform/text/language-context.ts';
import { IconButton } from '../../ui/button.tsx';
import { keyLabel } from '../../ui/keys.ts';
import mark from '../../ui/mark.svg';
import { NARROW, useMedia } from '../../ui/media.ts';
import { MenuButton } from '../../ui/menu-button.tsx';
import type { MenuGroup } from '../../ui/menus.ts';
import { useActions } from '../actions/actions.ts';
import { useDetails, usePreferences } from '../models.ts';
import { AccountButton } from '../sign-in/account-button.tsx';
import { appearanceChoices, viewChoices } from './appearance.ts';
import { Breadcrumb } from './breadcrumb.tsx';
import { FilterField } from './filter-field.tsx';
import { useShortcutsDialog } from './show-shortcuts.ts';
import './top-bar.css';

/** The bar at the top: where one is, the filter, and how the page looks. */
export function TopBar() {
  const isNarrow = useMedia(NARROW);
  return (
    <header class="top-bar" data-region="top">
      <img class="mark" src={mark} alt="Holdall" draggable={false} />
      <Breadcrumb />
      <FilterField />
      {isNarrow ? <NarrowMenu /> : <WideControls />}
      <AccountButton />
    </header>
  );
}

function WideControls() {
  const preferences = usePreferences();
  const { isOpen } = useDetails();
  const showShortcuts = useShortcutsDialog();
  const details = useActions().available('details');
  const { text } = useLanguage();
  const { view } = preferences;
  return (
    <>
      <div class="switch" role="group" aria-label={text.shell.view}>
        <IconButton
          icon="list"
          label={text.shell.listView}
          pressed={view.value === 'list'}
          onClick={() => {
            view.value = 'list';
          }}
        />
        <IconButton
          icon="grid"
          label={text.shell.gridView}
          pressed={view.value === 'grid'}
          onClick={() => {
            view.value = 'grid';
          }}
        />
      </div>
      <div class="controls">
        <MenuButton icon="contrast" label={text.shell.settings} groups={() => appearanceChoices(preferences, text)} />
        <IconButton icon="keyboard" label={text.shell.shortcuts} shortcut={keyLabel('?')} onClick={showShortcuts} />
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

/** All of it in one menu, where there is no room side by side. */
function NarrowMenu() {
  const preferences = usePreferences();
  const showShortcuts = useShortcutsDialog();
  const { text } = useLanguage();
  const groups = (): readonly MenuGroup[] => [
    viewChoices(preferences, text),
    ...appearanceChoices(preferences, text),
    [
      {
        id: 'shortcuts',
        label: text.shell.shortcuts,
        icon: 'keyboard',
        run: showShortcuts,
      },
    ],
  ];
  return <MenuButton icon="settings" label={text.shell.settings} groups={groups} />;
}
