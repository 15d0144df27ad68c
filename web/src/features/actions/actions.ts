import { signal } from '@preact/signals';
import { holdKeys } from '../../ui/held-keys.ts';
import type { MenuItem, Menus } from '../../ui/menus.tsx';
import {
  ACTIONS,
  type Action,
  type ActionDefinition,
  type ActionModels,
  edit,
  isKnownUser,
  open,
  paste,
  share,
} from './action-list.ts';
import type { Actions } from './use-actions.ts';

export { type Actions, ActionsProvider, useActions } from './use-actions.ts';

/** The order of the groups in menus. */
const GROUPS: readonly Action['group'][] = ['create', 'open', 'clipboard', 'change', 'show'];

export function createActions(
  models: ActionModels,
  menus: Menus,
  definitions: readonly ActionDefinition[] = ACTIONS,
): Actions {
  const { permissions, selection, language } = models;
  const bound = definitions
    .filter(({ hasTrash = models.hasTrash }) => hasTrash === models.hasTrash)
    .filter(({ needsLinks = false }) => !needsLinks || models.links !== null)
    .map(({ isAvailable, run, ...action }) => ({
      ...action,
      isAvailable: () => isAvailable(models),
      run() {
        const opening = run(models);
        if (opening) holdKeys(opening);
      },
    }));
  const permitted = () =>
    bound.filter(
      ({ needs = [], needsLinks = false }) => needs.every(permissions.allows) && (!needsLinks || isKnownUser(models)),
    );
  const menuItem = ({ id, icon, keys, isDangerous = false, run }: Action): MenuItem => ({
    id,
    icon,
    isDangerous,
    label: language.value.text.actions[id],
    keys: keys[0],
    run,
  });
  const menuGroups: Actions['menuGroups'] = (except = []) => {
    const isInMenu = selection.count.value > 0 ? isForSelection : isForFolder;
    const actions = permitted().filter(
      (action) => isInMenu(action) && !except.includes(action.id) && action.isAvailable(),
    );
    return GROUPS.map((group) => actions.filter((action) => action.group === group).map(menuItem)).filter(
      (items) => items.length > 0,
    );
  };

  return {
    permitted,
    available: (id) => permitted().find((action) => action.id === id && action.isAvailable()),
    on(entry) {
      const alone = { ...selection, entries: signal([entry]), count: signal(1) };
      return createActions({ ...models, selection: alone }, menus, definitions);
    },
    open: (entry) => open(models, entry),
    edit: (path) => void edit(models, path),
    share: (path) => void share(models, path),
    paste: () => paste(models),
    menuGroups,
    menuItem,
    openMenu(anchor) {
      const { shell } = language.value.text;
      const count = selection.count.value;
      menus.open({ label: count > 0 ? shell.selected({ count }) : shell.actions, groups: menuGroups(), anchor });
    },
  };
}

/** These are actions of the folder, whatever is selected in it. */
const isForFolder = ({ id, group }: Action) =>
  ['paste', 'undo', 'redo', 'share', 'addFavourite', 'removeFavourite'].includes(id) ||
  ['create', 'show'].includes(group);
const isForSelection = (action: Action) =>
  ['details', 'share', 'addFavourite', 'removeFavourite'].includes(action.id) || !isForFolder(action);
