import type { MenuItem, OpenMenu } from '../../ui/menus.ts';
import type { Page } from '../page.ts';
import { type Action, type ActionId, actionsOf } from './actions.ts';

/** Opens the menu of all that can be done with what is selected; with the folder, where nothing is. */
export function contextMenu(page: Page, at: OpenMenu['at']): void {
  const { shell } = page.language.value.text;
  const count = page.selection.count.value;
  const label = count > 0 ? shell.selected({ count }) : shell.actions;
  page.menus.open({ label, groups: menuGroups(page), at });
}

/** The same as groups of a menu, without those actions that are shown beside it. */
export function menuGroups(page: Page, beside: readonly ActionId[] = []): readonly (readonly MenuItem[])[] {
  const belongs = page.selection.count.value > 0 ? ofSelection : ofFolder;
  const actions = actionsOf(page).filter(
    (action) => belongs(action) && !beside.includes(action.id) && action.isAvailable(page),
  );
  return GROUPS.map((group) =>
    actions.filter((action) => action.group === group).map((action) => itemOf(action, page)),
  ).filter((items) => items.length > 0);
}

/** One action as an item of a menu. */
export function itemOf({ id, icon, keys, isDangerous = false, run }: Action, page: Page): MenuItem {
  return {
    id,
    icon,
    isDangerous,
    label: page.language.value.text.actions[id],
    keys: keys[0],
    run: () => run(page),
  };
}

const GROUPS: readonly Action['group'][] = ['create', 'open', 'clipboard', 'change', 'show'];

// Pasting goes into the folder that is shown, whatever is selected in it.
const ofSelection = ({ id, group }: Action) =>
  id === 'details' || (id !== 'paste' && ['open', 'clipboard', 'change'].includes(group));
const ofFolder = ({ id, group }: Action) => id === 'paste' || ['create', 'show'].includes(group);
