import type { Need } from '../access/rights.ts';
import type { IconName } from '../controls/icons.ts';
import { tellNotLoaded } from '../controls/not-loaded.ts';
import { isThere } from '../folder/is-there.ts';
import type { Page } from '../page.ts';
import { parentOf, ROOT } from '../paths.ts';
import type { Entry } from '../service/service.ts';
import type { Text } from '../text/language.ts';
import { copyLinks } from './copy-links.ts';

export type ActionId = keyof Text['actions'];

/** Something that a person can do, by the toolbar, the menu and the keyboard alike. */
export interface Action {
  readonly id: ActionId;
  readonly icon: IconName;
  /** The keys that do it, the one that is shown first. */
  readonly keys: readonly string[];
  /** Items of one group stand together in menus. */
  readonly group: 'open' | 'clipboard' | 'change' | 'create' | 'show';
  readonly isDangerous?: boolean;
  /** What a person has to be allowed in the folder that is shown; without that, there is no such action. */
  readonly needs?: readonly Need[];
  /** Whether it can be done now; what can't is not shown. */
  readonly isAvailable: (page: Page) => boolean;
  readonly run: (page: Page) => void;
}

const selected = ({ selection }: Page): readonly Entry[] => selection.entries.value;
const pathsOf = (entries: readonly Entry[]) => entries.map(({ path }) => path);
const hasSelection = (page: Page) => page.selection.count.value > 0;
const only = (page: Page): Entry | undefined => (page.selection.count.value === 1 ? selected(page)[0] : undefined);
const always = () => true;

/** Every action, in the order in which menus show them. */
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
    keys: ['mod+shift+s'],
    group: 'open',
    // Of folders alone, it says why they can't be downloaded.
    isAvailable: hasSelection,
    run: (page) => void download(page),
  },
  {
    id: 'copyLink',
    icon: 'link',
    keys: ['mod+shift+c'],
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
    // Done by the event `paste`, which brings files from elsewhere as well.
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
    keys: ['mod+shift+m'],
    group: 'change',
    needs: ['read', 'manage'],
    isAvailable: hasSelection,
    run: (page) => void page.changes.transferElsewhere('move', pathsOf(selected(page))),
  },
  {
    id: 'copyTo',
    icon: 'copy',
    keys: ['mod+shift+d'],
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
    const { startDownloads } = await import('./download.ts');
    await startDownloads(page, entries);
  } catch {
    await tellNotLoaded(page, () => void download(page));
  }
}

/** The actions that there are: those that a person may do in the folder that is shown. */
export function actionsOf({ rights }: Page): readonly Action[] {
  return ALL.filter(({ needs = [] }) => needs.every(rights.may));
}

/** One action, where there is it and it can be done now. */
export function availableAction(page: Page, id: ActionId): Action | undefined {
  const action = actionsOf(page).find((candidate) => candidate.id === id);
  return action?.isAvailable(page) ? action : undefined;
}

/** A folder is renamed by moving all that is in it. */
function mayRename({ rights }: Page, entry: Entry | undefined): boolean {
  return entry?.type === 'file' || (entry !== undefined && rights.may('read') && rights.may('write'));
}

/** Opens a folder, or the preview of a file. */
export function open({ location }: Page, entry: Entry | undefined): void {
  if (entry?.type === 'folder') location.openFolder(entry.path);
  else if (entry) location.openPreview(entry.path);
}

/** Copies or moves what was cut or copied into the folder that is shown, where that is there. */
export function paste({ clipboard, changes, folder }: Page): void {
  const clip = clipboard.clip.value;
  if (!clip || !isThere(folder)) return;
  // What was moved is elsewhere now, and can't be moved from here again.
  if (clip.kind === 'move') clipboard.clear();
  void changes.transfer(clip.kind, clip.paths, folder.path.value);
}

function keep(page: Page, kind: 'copy' | 'move'): void {
  const { text } = page.language.value;
  const entries = selected(page);
  page.clipboard.put({ kind, paths: pathsOf(entries) });
  page.messages.announce(kind === 'move' ? text.clipboard.cut(entries.length) : text.clipboard.copied(entries.length));
}
