import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { Folder } from '../../model/folder/folder.ts';
import { previewKindOf } from '../../platform/preview-kinds.ts';
import type { Entry, FileEntry, FolderEntry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { typeLabel } from '../../platform/type-names.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import type { Dialogs } from '../../ui/dialogs.tsx';
import { isForPage, keyLabel, keysOf } from '../../ui/keyboard.ts';
import { useLoaded } from '../../ui/loading.ts';
import { Name } from '../folder/entry-parts.tsx';
import { EntryIcon } from '../folder/thumbnail.tsx';
import { useFolder, useRouter, useService } from '../models.ts';
import { ShownFile } from './lazy-preview.tsx';
import { createViewerState } from './viewer-tools.ts';
import './quick-look.css';

let close: (() => void) | undefined;

/** Opens the quick look of the focused entry, or closes it. */
export function toggleQuickLook({ dialogs, folder, open }: QuickLookModels): void {
  if (close) return close();
  const shownFolder = folder.path.peek();
  void dialogs.open<never>((done) => <QuickLook {...{ shownFolder, open }} onClose={() => done(null)} />);
}

interface QuickLookModels {
  readonly dialogs: Dialogs;
  readonly folder: Folder;
  /** Opens a folder, or the viewer. */
  readonly open: (entry: Entry) => void;
}

interface QuickLookProps extends Pick<QuickLookModels, 'open'> {
  shownFolder: string;
  onClose: () => void;
}

/**
 * Shows the focused entry above the folder. The focus stays in the folder, so that all keys keep their meaning there, and the
 * arrow keys show the next entry.
 */
function QuickLook({ shownFolder, open, onClose }: QuickLookProps) {
  const folder = useFolder();
  const router = useRouter();
  const panel = useRef<HTMLDivElement>(null);
  const entry = folder.entryOf(folder.focused.value ?? '');
  const isElsewhere = router.route.value.preview !== null || folder.path.value !== shownFolder;

  useLayoutEffect(() => {
    close = onClose;
    // In the top layer. Unlike a dialog, it takes no focus.
    panel.current?.showPopover();
    return () => {
      close = undefined;
    };
  }, []);
  useEffect(() => {
    if (isElsewhere || !entry) onClose();
  }, [isElsewhere, entry === undefined]);
  useClosingKeys(panel, onClose);

  const isDark = entry?.type === 'file' && ['image', 'video'].includes(previewKindOf(entry));
  return (
    <div
      ref={panel}
      class={`quick-look ${isDark ? 'dark' : ''}`}
      popover="manual"
      role="dialog"
      aria-labelledby={TITLE_ID}
    >
      {entry && <Content {...{ entry, open, onClose }} />}
    </div>
  );
}

const TITLE_ID = 'quick-look-title';

/** Space and Escape close the quick look, before they reach the folder. */
function useClosingKeys(panel: { readonly current: HTMLElement | null }, onClose: () => void): void {
  // In a layout effect, so that it is there for a key that follows at once, and gone with the quick look.
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      const { target } = event;
      if (![' ', 'Escape'].includes(keysOf(event)) || !isForPage(event)) return;
      const isOnControl = target instanceof Element && target.closest('button, a, video, audio') !== null;
      if (event.key === ' ' && isOnControl) return;
      event.preventDefault();
      event.stopPropagation();
      if (panel.current?.contains(document.activeElement) && document.activeElement instanceof HTMLElement) {
        document.activeElement.blur();
      }
      onClose();
    };
    window.addEventListener('keydown', onKeyDown, { capture: true });
    return () => window.removeEventListener('keydown', onKeyDown, { capture: true });
  }, []);
}

function Content({ entry, open, onClose }: Pick<QuickLookProps, 'open' | 'onClose'> & { entry: Entry }) {
  const { text, formats } = useFullLanguage();
  return (
    <>
      <div class="heading">
        <IconButton
          icon="close"
          label={text.controls.close}
          shortcut={keyLabel(' ', { ' ': text.shortcuts.keys.space })}
          onClick={onClose}
        />
        <div class="title">
          <h2 id={TITLE_ID} class="truncated-name" title={entry.name}>
            <Name of={entry.name} />
          </h2>
          {entry.type === 'file' && (
            <p class="numbers">
              {typeLabel(entry, text)} · {formats.size(entry.size)}
            </p>
          )}
        </div>
        <Button onClick={() => open(entry)}>{text.actions.open}</Button>
      </div>
      <div class="stage">
        {entry.type === 'file' ? <QuickFile entry={entry} /> : <QuickFolder key={entry.path} entry={entry} />}
      </div>
      <p class="visually-hidden" role="status">
        {entry.name}
      </p>
    </>
  );
}

function QuickFile({ entry }: { entry: FileEntry }) {
  const { viewer, end } = useMemo(() => {
    const ending = new AbortController();
    return { viewer: createViewerState(ending.signal), end: () => ending.abort() };
  }, []);
  useEffect(() => end, []);
  return <ShownFile entry={entry} viewer={viewer} />;
}

/** The maximum number of items that are counted. */
const MAX_COUNTED = 1000;

/** The name of a folder, with the number and the size of the files in it, as far as one request returns them. */
function QuickFolder({ entry }: { entry: FolderEntry }) {
  const service = useService();
  const { text, formats } = useFullLanguage();
  const listed = useLoaded((signal) => service.list(entry.path, { limit: MAX_COUNTED, signal }));
  const entries = listed.state === 'ready' ? listed.value.entries : [];
  const isWhole = listed.state === 'ready' && listed.value.cursor === undefined;
  const hasFolders = entries.some(({ type }) => type === 'folder');
  const size = entries.reduce((sum, item) => sum + (item.type === 'file' ? item.size : 0), 0);
  const count = text.folder.items({ count: entries.length });
  return (
    <div class="folder">
      <EntryIcon entry={entry} />
      <p class="name">
        <Name of={entry.name} />
      </p>
      {listed.state === 'ready' && (
        <p class="numbers">
          {isWhole ? count : text.previews.moreThan({ count: entries.length })}
          {isWhole && !hasFolders && entries.length > 0 && ` · ${formats.size(size)}`}
        </p>
      )}
    </div>
  );
}
