import { createRequiredContext } from '../../platform/required-context.ts';
import type { Entry } from '../../platform/service/service.ts';
import type { MenuItem, Menus } from '../../ui/menus.tsx';
import type { Box } from '../../ui/placement.ts';
import {
  ACTIONS,
  type Action,
  type ActionDefinition,
  type ActionId,
  type ActionModels,
  edit,
  open,
  paste,
  share,
} from './action-list.ts';

/** The actions of the page. Toolbar, menus, keyboard shortcuts and buttons use this one list. */
export interface Actions {
  /** Returns the actions that the user's permissions in the shown folder allow. */
  permitted(): readonly Action[];
  /** Returns the action if it is permitted and currently possible. */
  available(id: ActionId): Action | undefined;
  /** Opens a folder, or the preview of a file. Does nothing without an entry. */
  open(entry: Entry | undefined): void;
  /** Opens a text file in the editor. */
  edit(path: string): void;
  /** Opens the dialog with the links to a file or folder. */
  share(path: string): void;
  /** Copies or moves the entries of the clipboard into the shown folder, if that folder exists. */
  paste(): void;
  /** Returns the available actions for the selection, or for the folder if nothing is selected, except those named. */
  menuGroups(except?: readonly ActionId[]): readonly (readonly MenuItem[])[];
  /** Returns an action as a menu item. */
  menuItem(action: Action): MenuItem;
  /** Opens the context menu of the selection, or of the folder if nothing is selected. */
  openMenu(anchor: Box): void;
}

export const [useActions, ActionsProvider] = createRequiredContext<Actions>('actions');

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
      run: () => run(models),
    }));
  const permitted = () => bound.filter(({ needs = [] }) => needs.every(permissions.allows));
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
