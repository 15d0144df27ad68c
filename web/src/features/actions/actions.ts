import type { Need } from '../../model/account/rights.ts';
import type { IconName } from '../../ui/icons.ts';
import { tellNotLoaded } from '../../model/not-loaded.ts';
import { isThere } from '../../model/folder/is-there.ts';
import type { Page } from '../page.ts';
import { parentOf, ROOT } from '../../platform/paths.ts';
import type { Entry } from '../../platform/service/service.ts';
import type { Text } from '../../platform/text/language.ts';
import { completeLanguage } from '../../platform/text/language.ts';
import { copyLinks } from './copy-links.ts';

export type ActionId = keyof Text['actions'];

/** A user action, available from the toolbar, the menu and the keyboard. */
export interface Action {
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
  /** The permissions that the action requires in the shown folder. Without them, the action is hidden. */
  readonly needs?: readonly Need[];
  /** Whether the action is currently possible. Otherwise it is hidden. */
  readonly isAvailable: (page: Page) => boolean;
  readonly run: (page: Page) => void;
}

const selected = ({ selection }: Page): readonly Entry[] => selection.entries.value;
const pathsOf = (entries: readonly Entry[]) => entries.map(({ path }) => path);
const hasSelection = (page: Page) => page.selection.count.value > 0;
const only = (page: Page): Entry | undefined => (page.selection.count.value === 1 ? selected(page)[0] : undefined);
const always = () => true;

/** All actions, in the order of the menus. */
const ALL: readonly Action[] = [
  {
    id: 'open',
    icon: 'folder',
    keys: ['Enter', 'mod+ArrowDown'],
    group: 'open',
    isAvailable: (page) => only(page) !== undefined,
    run: (page) => open(page, only(page)),
  },
  {
    id: 'download',
    icon: 'download',
    keys: ['alt+shift+d'],
    group: 'open',
    // With only folders selected, the action explains why folders can't be downloaded.
    isAvailable: hasSelection,
    run: (page) => void download(page),
  },
  {
    id: 'copyLink',
    icon: 'link',
    keys: ['alt+shift+l'],
    group: 'open',
    isAvailable: hasSelection,
    run: (page) => void copyLinks(page, selected(page)),
  },
  {
    id: 'cut',
    icon: 'cut',
    keys: ['mod+x'],
    group: 'clipboard',
    needs: ['read', 'manage'],
    isAvailable: hasSelection,
    run: (page) => keep(page, 'move'),
  },
  {
    id: 'copy',
    icon: 'copy',
    keys: ['mod+c'],
    group: 'clipboard',
    needs: ['read', 'change'],
    isAvailable: hasSelection,
    run: (page) => keep(page, 'copy'),
  },
  {
    id: 'paste',
    icon: 'paste',
    // The `paste` event performs it, because it also carries files of other programs.
    keys: ['mod+v'],
    group: 'clipboard',
    needs: ['write'],
    isAvailable: ({ clipboard, folder }) => clipboard.clip.value !== null && isThere(folder),
    run: paste,
  },
  {
    id: 'rename',
    icon: 'rename',
    keys: ['F2'],
    group: 'change',
    needs: ['manage'],
    isAvailable: (page) => mayRename(page, only(page)),
    run: (page) => {
      page.changes.renaming.value = only(page)?.path ?? null;
    },
  },
  {
    id: 'moveTo',
    icon: 'move',
    keys: ['alt+shift+m'],
    group: 'change',
    needs: ['read', 'manage'],
    isAvailable: hasSelection,
    run: (page) => void page.changes.transferElsewhere('move', pathsOf(selected(page))),
  },
  {
    id: 'copyTo',
    icon: 'copy',
    keys: ['alt+shift+c'],
    group: 'change',
    needs: ['read', 'change'],
    isAvailable: hasSelection,
    run: (page) => void page.changes.transferElsewhere('copy', pathsOf(selected(page))),
  },
  {
    id: 'delete',
    icon: 'delete',
    keys: ['Delete', 'mod+Backspace'],
    group: 'change',
    isDangerous: true,
    needs: ['manage'],
    isAvailable: hasSelection,
    run: (page) => void page.changes.remove(selected(page)),
  },
  {
    id: 'newFolder',
    icon: 'new-folder',
    keys: ['alt+n'],
    group: 'create',
    needs: ['read', 'write'],
    isAvailable: ({ folder }) => isThere(folder),
    run: (page) => void page.changes.createFolder(),
  },
  {
    id: 'upload',
    icon: 'upload',
    keys: ['alt+u'],
    group: 'create',
    needs: ['write'],
    isAvailable: ({ folder }) => isThere(folder),
    run: ({ uploads }) => uploads.pick('files'),
  },
  {
    id: 'uploadFolder',
    icon: 'upload',
    keys: ['alt+shift+u'],
    group: 'create',
    needs: ['write'],
    isAvailable: ({ folder }) => isThere(folder),
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
    run: ({ folder }) => void folder.refresh(),
  },
  {
    id: 'up',
    icon: 'arrow-up',
    keys: ['Backspace', 'alt+ArrowUp', 'mod+ArrowUp'],
    group: 'show',
    isAvailable: ({ folder }) => folder.path.value !== ROOT,
    run: ({ folder, location }) => location.openFolder(parentOf(folder.path.value)),
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
];

async function download(page: Page): Promise<void> {
  const entries = selected(page);
  try {
    const [{ startDownloads }, language] = await Promise.all([
      import('./download.ts'),
      completeLanguage(page.language),
    ]);
    await startDownloads(page, language.value, entries);
  } catch {
    await tellNotLoaded(page, () => void download(page));
  }
}

/** Returns the actions that the user's permissions in the shown folder allow. */
export function actionsOf({ rights }: Page): readonly Action[] {
  return ALL.filter(({ needs = [] }) => needs.every(rights.may));
}

/** Returns the action if it is allowed and currently possible. */
export function availableAction(page: Page, id: ActionId): Action | undefined {
  const action = actionsOf(page).find((candidate) => candidate.id === id);
  return action?.isAvailable(page) ? action : undefined;
}

/**
 * Returns whether the user may rename the entry. Renaming a folder moves its content, which requires read and write.
 */
function mayRename({ rights }: Page, entry: Entry | undefined): boolean {
  return entry?.type === 'file' || (entry !== undefined && rights.may('read') && rights.may('write'));
}

/** Opens a folder, or the preview of a file. */
export function open({ location }: Page, entry: Entry | undefined): void {
  if (entry?.type === 'folder') location.openFolder(entry.path);
  else if (entry) location.openPreview(entry.path);
}

/** Copies or moves the entries of the clipboard into the shown folder, if that folder exists. */
export function paste({ clipboard, changes, folder }: Page): void {
  const clip = clipboard.clip.value;
  if (!clip || !isThere(folder)) return;
  // A cut entry can be moved only once: afterwards its path is different.
  if (clip.kind === 'move') clipboard.clear();
  void changes.transfer(clip.kind, clip.paths, folder.path.value);
}

function keep(page: Page, kind: 'copy' | 'move'): void {
  const { text } = page.language.value;
  const entries = selected(page);
  page.clipboard.put({ kind, paths: pathsOf(entries) });
  page.messages.announce(
    kind === 'move' ? text.clipboard.cut({ count: entries.length }) : text.clipboard.copied({ count: entries.length }),
  );
}
