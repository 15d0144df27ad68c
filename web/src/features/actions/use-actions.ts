import { createRequiredContext } from '../../platform/required-context.ts';
import type { Entry } from '../../platform/service/service.ts';
import type { Text } from '../../platform/text/language.ts';
import type { IconName } from '../../ui/icon.tsx';
import type { MenuItem } from '../../ui/menus.tsx';
import type { Box } from '../../ui/placement.ts';

export type ActionId = keyof Text['actions'];

/** The part of an action that the toolbar, menus and the list of shortcuts show. */
export interface ActionProperties {
  readonly id: ActionId;
  readonly icon: IconName;
  /**
   * The keyboard shortcuts. Menus show the first one. Letters of new shortcuts have `alt` or `alt+shift`: browsers use
   * `mod+shift` for their own tools.
   */
  readonly keys: readonly string[];
  /** Menus show the items of one group together. */
  readonly group: 'open' | 'clipboard' | 'change' | 'create' | 'show';
  readonly isDangerous?: boolean;
}

/** An action that the user's permissions allow. */
export interface Action extends ActionProperties {
  /** Returns whether the action is currently possible. Reads signals. */
  isAvailable(): boolean;
  /** Runs the action. While the dialog or text field that it opens loads, the page ignores the keyboard: see `holdKeys`. */
  run(): void;
}

/** The actions of the page. Toolbar, menus, keyboard shortcuts and buttons use this one list. */
export interface Actions {
  /** Returns the actions that the user's permissions in the shown folder allow. */
  permitted(): readonly Action[];
  /** Returns the action if it is permitted and currently possible. */
  available(id: ActionId): Action | undefined;
  /** Returns the actions for one entry, whatever is selected. */
  on(entry: Entry): Actions;
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
