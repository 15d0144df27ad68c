import type { ReadonlySignal } from '@preact/signals';
import type { Account } from '../../model/account/account.ts';
import type { Permissions, RequiredPermission } from '../../model/account/permissions.ts';
import type { Changes } from '../../model/changes/changes.ts';
import type { Clipboard } from '../../model/clipboard.ts';
import type { Dav } from '../../model/dav.ts';
import { type Folder, isWritableTarget } from '../../model/folder/folder.ts';
import type { Links } from '../../model/links/links.ts';
import type { Messages } from '../../model/messages.ts';
import type { Places } from '../../model/places/places.ts';
import type { Selection } from '../../model/selection.ts';
import type { Uploads } from '../../model/uploads/uploads.ts';
import type { Visit } from '../../model/visit/visit.ts';
import { install, installPrompt } from '../../platform/install-prompt.ts';
import { parentOf, ROOT } from '../../platform/paths.ts';
import type { Router } from '../../platform/router.ts';
import type { Entry, Service } from '../../platform/service/service.ts';
import type { Urls } from '../../platform/service/urls.ts';
import type { Language } from '../../platform/text/language.ts';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { PALETTE_KEYS } from '../../ui/keyboard.ts';
import type { Details } from '../models.ts';
import type { ActionProperties } from './use-actions.ts';
import { withLoaded } from './with-loaded.ts';

export type { Action, ActionId } from './use-actions.ts';

/** The models that actions read and change. */
export interface ActionModels {
  readonly account: Account | null;
  readonly changes: Changes;
  readonly clipboard: Clipboard;
  readonly dav: Dav | null;
  readonly details: Details;
  readonly dialogs: Dialogs;
  readonly folder: Folder;
  readonly hasTrash: boolean;
  readonly language: ReadonlySignal<Language>;
  readonly links: Links | null;
  readonly loadNameField: () => Promise<void>;
  readonly messages: Messages;
  readonly permissions: Permissions;
  readonly places: Places | null;
  readonly router: Router;
  readonly selection: Selection;
  readonly service: Service;
  readonly uploads: Uploads;
  readonly urls: Urls;
  readonly visit: Visit | null;
}

/** An action of the user. `Actions` binds it to the models. */
export interface ActionDefinition extends ActionProperties {
  /** The permissions that the action requires in the shown folder. Without them, the action is hidden. */
  readonly needs?: readonly RequiredPermission[];
  /** Whether the action is only for services with a trash (true) or without one (false). Default: for both. */
  readonly hasTrash?: boolean;
  /** Whether the action is only for users who can share files by links. Default: false. */
  readonly needsLinks?: boolean;
  /** Returns whether the action is currently possible. */
  readonly isAvailable: (models: ActionModels) => boolean;
  /**
   * Runs the action. If it opens a dialog or a text field, which may have to load, returns a promise that settles afterwards: the keys
   * that the user types meanwhile are for that field.
   */
  readonly run: (models: ActionModels) => Promise<unknown> | void;
}

const selected = ({ selection }: ActionModels): readonly Entry[] => selection.entries.value;
const pathsOf = (entries: readonly Entry[]) => entries.map(({ path }) => path);
const canAdd = ({ folder }: ActionModels) => isWritableTarget(folder);
const hasSelection = ({ selection }: ActionModels) => selection.count.value > 0;
const only = (models: ActionModels): Entry | undefined =>
  models.selection.count.value === 1 ? selected(models)[0] : undefined;
/** The viewer offers to edit some more files, such as those without a media type. */
const isText = (entry: Entry | undefined) =>
  entry?.type === 'file' && /^text|[/+](json|xml|javascript|x-sh)|yaml|toml|sql|mp2t/.test(entry.contentType);
const always = () => true;
/**
 * Anonymous users can share, and see the trash, only in a service without users. If the session has expired, both ask the user to
 * sign in.
 */
export const isKnownUser = ({ account }: ActionModels) => account?.lastUsername.value !== null;
/** Returns whether the only selected entry, or the folder without a selection, is a favourite; undefined if it can't be one. */
function isFavourite(models: ActionModels): boolean | undefined {
  const { places, selection, folder } = models;
  const path = sharedPath(models);
  if (!places || selection.count.value > 1 || path === ROOT || folder.state.value !== 'ready') return undefined;
  return places.favourites.items.value.some((item) => item.path === path);
}
/** Returns the path of the selected entry, or that of the folder without a selection. */
const sharedPath = ({ selection, folder }: ActionModels): string =>
  selection.count.value > 0 ? (selection.entries.value[0]?.path ?? ROOT) : folder.path.value;

/** All actions, in the order of the menus. */
export const ACTIONS: readonly ActionDefinition[] = [
  {
    id: 'open',
    icon: 'folder',
    keys: ['Enter', 'mod+ArrowDown'],
    group: 'open',
    isAvailable: (models) => only(models) !== undefined,
    run: (models) => open(models, only(models)),
  },
  {
    id: 'edit',
    icon: 'rename',
    keys: ['alt+shift+e'],
    group: 'open',
    needs: ['read', 'manage'],
    isAvailable: (models) => isText(only(models)),
    run: (models) => edit(models, only(models)?.path ?? ''),
  },
  {
    id: 'quickLook',
    icon: 'eye',
    keys: [' '],
    group: 'open',
    isAvailable: ({ folder }) => folder.entryOf(folder.focused.value ?? '') !== undefined,
    run: quickLook,
  },
  {
    id: 'download',
    icon: 'download',
    keys: ['alt+shift+d'],
    group: 'open',
    isAvailable: hasSelection,
    run: download,
  },
  {
    id: 'copyLink',
    icon: 'link',
    keys: ['alt+shift+l'],
    group: 'open',
    isAvailable: hasSelection,
    run: (models) => void copyLinks(models, selected(models)),
  },
  {
    id: 'share',
    icon: 'share',
    keys: ['alt+shift+s'],
    group: 'open',
    needsLinks: true,
    isAvailable: (models) =>
      models.selection.count.value <= 1 &&
      models.folder.state.value === 'ready' &&
      (models.permissions.allows('read') || models.permissions.allows('write')),
    run: (models) => share(models, sharedPath(models)),
  },
  {
    id: 'addFavourite',
    icon: 'star',
    keys: ['alt+shift+f'],
    group: 'open',
    isAvailable: (models) => isFavourite(models) === false,
    run: (models) => models.places?.favourites.add(sharedPath(models)),
  },
  {
    id: 'removeFavourite',
    icon: 'star',
    keys: ['alt+shift+f'],
    group: 'open',
    isAvailable: (models) => isFavourite(models) === true,
    run: (models) => models.places?.favourites.remove(sharedPath(models)),
  },
  {
    id: 'cut',
    icon: 'cut',
    keys: ['mod+x'],
    group: 'clipboard',
    needs: ['read', 'manage'],
    isAvailable: hasSelection,
    run: (models) => putOnClipboard(models, 'move'),
  },
  {
    id: 'copy',
    icon: 'copy',
    keys: ['mod+c'],
    group: 'clipboard',
    needs: ['read', 'change'],
    isAvailable: hasSelection,
    run: (models) => putOnClipboard(models, 'copy'),
  },
  {
    id: 'paste',
    icon: 'paste',
    // The `paste` event performs it, because it also carries files of other programs: see `paste.ts`.
    keys: ['mod+v'],
    group: 'clipboard',
    needs: ['write'],
    isAvailable: ({ clipboard, folder }) => clipboard.clip.value !== null && isWritableTarget(folder),
    run: paste,
  },
  {
    id: 'undo',
    icon: 'undo',
    keys: ['mod+z'],
    group: 'clipboard',
    isAvailable: ({ changes }) => changes.undos.value.length > 0,
    run: ({ changes }) => changes.undos.value.at(-1)?.(),
  },
  {
    id: 'redo',
    icon: 'redo',
    keys: ['mod+shift+z'],
    group: 'clipboard',
    isAvailable: ({ changes }) => changes.redos.value.length > 0,
    run: ({ changes }) => changes.redos.value.at(-1)?.(),
  },
  {
    id: 'rename',
    icon: 'rename',
    keys: ['F2'],
    group: 'change',
    needs: ['manage'],
    isAvailable: (models) => hasSelection(models) && selected(models).every((entry) => mayRename(models, entry)),
    run: (models) => {
      const entry = only(models);
      return entry
        ? rename(models, entry.path)
        : models.changes.perform(({ renameSeveral }) => renameSeveral(selected(models)));
    },
  },
  {
    id: 'moveTo',
    icon: 'move',
    keys: ['alt+shift+m'],
    group: 'change',
    needs: ['read', 'manage'],
    isAvailable: hasSelection,
    run: (models) => models.changes.transferElsewhere('move', pathsOf(selected(models))),
  },
  {
    id: 'copyTo',
    icon: 'copy',
    keys: ['alt+shift+c'],
    group: 'change',
    needs: ['read', 'change'],
    isAvailable: hasSelection,
    run: (models) => models.changes.transferElsewhere('copy', pathsOf(selected(models))),
  },
  {
    id: 'delete',
    icon: 'delete',
    keys: ['Delete', 'mod+Backspace'],
    group: 'change',
    isDangerous: true,
    needs: ['manage'],
    hasTrash: false,
    isAvailable: hasSelection,
    run: remove,
  },
  {
    id: 'moveToTrash',
    icon: 'delete',
    keys: ['Delete', 'mod+Backspace'],
    group: 'change',
    isDangerous: true,
    needs: ['manage'],
    hasTrash: true,
    isAvailable: hasSelection,
    run: (models) => void models.changes.perform(({ moveToTrash }) => moveToTrash(selected(models))),
  },
  {
    id: 'deletePermanently',
    icon: 'delete',
    keys: ['shift+Delete'],
    group: 'change',
    isDangerous: true,
    needs: ['manage'],
    hasTrash: true,
    isAvailable: hasSelection,
    run: remove,
  },
  {
    id: 'newFolder',
    icon: 'new-folder',
    keys: ['alt+n'],
    group: 'create',
    needs: ['read', 'write'],
    isAvailable: canAdd,
    run: (models) => models.changes.createFolder(),
  },
  {
    id: 'newFile',
    icon: 'text',
    keys: ['alt+shift+n'],
    group: 'create',
    needs: ['read', 'write', 'manage'],
    isAvailable: canAdd,
    run: (models) => edit(models),
  },
  {
    id: 'upload',
    icon: 'upload',
    keys: ['alt+u'],
    group: 'create',
    needs: ['write'],
    isAvailable: canAdd,
    run: ({ uploads }) => uploads.pick('files'),
  },
  {
    id: 'uploadFolder',
    icon: 'upload',
    keys: ['alt+shift+u'],
    group: 'create',
    needs: ['write'],
    isAvailable: canAdd,
    run: ({ uploads }) => uploads.pick('folder'),
  },
  {
    id: 'selectAll',
    icon: 'check',
    keys: ['mod+a'],
    group: 'show',
    isAvailable: ({ folder }) => folder.entries.value.length > 0,
    run: ({ selection }) => selection.all(),
  },
  {
    id: 'refresh',
    icon: 'refresh',
    keys: ['alt+r'],
    group: 'show',
    isAvailable: always,
    run: ({ account, folder }) => {
      void account?.check();
      void folder.refresh();
    },
  },
  {
    id: 'up',
    icon: 'arrow-up',
    keys: ['Backspace', 'alt+ArrowUp', 'mod+ArrowUp'],
    group: 'show',
    isAvailable: ({ folder }) => folder.path.value !== ROOT,
    run: ({ folder, router }) => router.openFolder(parentOf(folder.path.value)),
  },
  {
    id: 'details',
    icon: 'details',
    keys: ['alt+Enter'],
    group: 'show',
    isAvailable: always,
    run: ({ details }) => {
      details.isOpen.value = !details.isOpen.value;
    },
  },
  {
    id: 'palette',
    icon: 'search',
    keys: PALETTE_KEYS,
    group: 'show',
    isAvailable: always,
    run: (models) => openPalette(models, ''),
  },
  {
    id: 'goTo',
    icon: 'folder',
    keys: ['alt+g'],
    group: 'show',
    isAvailable: always,
    run: (models) => openPalette(models, `/${models.folder.path.value}`),
  },
  {
    id: 'recent',
    icon: 'clock',
    keys: ['alt+shift+h'],
    group: 'show',
    isAvailable: always,
    run: ({ router }) => router.openView('recent'),
  },
  {
    id: 'trash',
    icon: 'delete',
    keys: ['alt+shift+g'],
    group: 'show',
    hasTrash: true,
    isAvailable: isKnownUser,
    run: ({ router }) => router.openView('trash'),
  },
  {
    id: 'links',
    icon: 'link',
    keys: ['alt+shift+k'],
    group: 'show',
    needsLinks: true,
    isAvailable: always,
    run: ({ router }) => router.openView('links'),
  },
  {
    id: 'connect',
    icon: 'drive',
    keys: [],
    group: 'show',
    isAvailable: ({ dav }) => dav?.isServed === true,
    run: connect,
  },
  {
    id: 'install',
    icon: 'install',
    keys: [],
    group: 'show',
    isAvailable: () => installPrompt.value !== null,
    run: install,
  },
];

/** Opens the name field of an entry. */
function rename(models: ActionModels, path: string): Promise<void> {
  return withLoaded(models, models.loadNameField, () => {
    models.changes.renaming.value = path;
  });
}

function remove(models: ActionModels): Promise<void> {
  return models.changes.remove(selected(models));
}

function download(models: ActionModels): void {
  const entries = selected(models);
  void withLoaded(
    models,
    () => import('./download.ts'),
    ({ startDownload }, language) => startDownload(models, language.value, entries),
  );
}

/** Opens a text file in the editor. Without a path, asks for the name of a new one. */
export function edit(models: ActionModels, path?: string): Promise<void> {
  return withLoaded(
    models,
    () => import('../editor/open-editor.tsx'),
    ({ openEditor, createTextFile }, language) =>
      path === undefined ? createTextFile({ ...models, language }) : openEditor(models.dialogs, path),
  );
}

/** Opens the command palette with a text in its field, unless a dialog is open. */
function openPalette(models: ActionModels, query: string): Promise<void> {
  const { dialogs } = models;
  return withLoaded(
    models,
    () => import('../palette/palette.tsx'),
    (palette) => dialogs.shown.value.length === 0 && palette.openPalette(dialogs, query),
  );
}

/** Opens the dialog with the links to a file or folder. */
export function share(models: ActionModels, path: string): Promise<void> {
  return withLoaded(
    models,
    () => import('../links/share-dialog.tsx'),
    ({ openShareDialog }) => openShareDialog(models.dialogs, path),
  );
}

/** Opens the dialog that describes how WebDAV clients connect. */
function connect(models: ActionModels): Promise<void> {
  return withLoaded(
    models,
    () => import('../connect/connect-dialog.tsx'),
    ({ openConnectDialog }, language) => openConnectDialog(models.dialogs, language.value),
  );
}

/** Opens or closes the quick look of the focused entry, which is then selected. */
function quickLook(models: ActionModels): void {
  const { dialogs, folder, selection } = models;
  void withLoaded(
    models,
    () => import('../viewer/quick-look.tsx'),
    ({ toggleQuickLook }) => {
      if (selection.count.value === 0 && folder.focused.value !== null) selection.only(folder.focused.value);
      toggleQuickLook({ dialogs, folder, open: (entry) => open(models, entry) });
    },
  );
}

/**
 * Returns whether the user may rename the entry. Renaming a folder moves its content, which requires read and write.
 */
function mayRename({ permissions }: ActionModels, entry: Entry | undefined): boolean {
  return entry?.type === 'file' || (entry !== undefined && permissions.allows('read') && permissions.allows('write'));
}

/** Opens a folder, or the preview of a file. */
export function open({ router }: Pick<ActionModels, 'router'>, entry: Entry | undefined): void {
  if (entry?.type === 'folder') router.openFolder(entry.path);
  else if (entry) router.openPreview(entry.path);
}

/** Copies or moves the entries of the clipboard into the shown folder, if that folder exists. */
export function paste({ clipboard, changes, folder }: ActionModels): void {
  const clip = clipboard.clip.value;
  if (!clip || !isWritableTarget(folder)) return;
  // A cut entry can be moved only once: afterwards its path is different.
  if (clip.kind === 'move') clipboard.clear();
  void changes.transfer(clip.kind, clip.paths, folder.path.value);
}

function putOnClipboard(models: ActionModels, kind: 'copy' | 'move'): void {
  const { text } = models.language.value;
  const entries = selected(models);
  models.clipboard.put({ kind, paths: pathsOf(entries) });
  const count = entries.length;
  const announcement = kind === 'move' ? text.clipboard.cut({ count }) : text.clipboard.copied({ count });
  models.messages.announce(announcement);
}

/** Copies the URLs of entries, one per line. The URL of a file returns its content, that of a folder its page. */
async function copyLinks({ urls, messages, language }: ActionModels, entries: readonly Entry[]): Promise<void> {
  const { text } = language.value;
  const links = entries.map((entry) => (entry.type === 'folder' ? urls.page(entry.path) : urls.file(entry.path)));
  try {
    await navigator.clipboard.writeText(links.join('\n'));
    messages.show({ kind: 'done', text: text.clipboard.linksCopied({ count: links.length }) });
  } catch {
    // The browser denies access to the clipboard, or lacks it because the page was loaded without HTTPS.
    messages.show({ kind: 'error', text: text.clipboard.linksNotCopied, detail: links.join('\n') });
  }
}
