import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import type { Entry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { IconButton } from '../../ui/button.tsx';
import { useModalDialog } from '../../ui/modal.ts';
import { useMedia } from '../../ui/responsive.ts';
import { useSwipes } from '../../ui/use-swipes.ts';
import { useFolder } from '../models.ts';
import { EntryDetails, FolderDetails, MultipleDetails } from './entry-details.tsx';
import './details-sheet.css';

/** Windows without space for a side panel. */
const ONE_COLUMN = '(width < 48rem)';

interface SheetProps {
  onClose: () => void;
  children: ComponentChildren;
}

/**
 * Shows the details of one or several entries, or of the folder without entries: in a side panel, or in a bottom sheet
 * in narrow windows.
 */
export function DetailsSheet({ entries, onClose }: { entries: readonly Entry[]; onClose: () => void }) {
  const Sheet = useMedia(ONE_COLUMN) ? BottomSheet : SidePanel;
  return (
    <Sheet onClose={onClose}>
      <DetailsOf entries={entries} />
    </Sheet>
  );
}

function DetailsOf({ entries }: { entries: readonly Entry[] }) {
  const folder = useFolder();
  const [first] = entries;
  if (!first) return <FolderDetails key={folder.path.value} path={folder.path.value} />;
  return entries.length === 1 ? <EntryDetails key={first.path} entry={first} /> : <MultipleDetails entries={entries} />;
}

function SidePanel({ onClose, children }: SheetProps) {
  const titleId = useId();
  const sheet = useRef<HTMLElement>(null);
  useRestoredFocus(sheet);
  return (
    <aside ref={sheet} class="details-sheet beside" aria-labelledby={titleId}>
      <SheetContent {...{ titleId, onClose }}>{children}</SheetContent>
    </aside>
  );
}

function BottomSheet({ onClose, children }: SheetProps) {
  const titleId = useId();
  const { dialog, listeners } = useModalDialog(onClose);
  useSwipes(dialog, { down: onClose });
  useBackCloses(onClose);
  return (
    <dialog ref={dialog} class="details-sheet below" aria-labelledby={titleId} {...listeners}>
      <SheetContent {...{ titleId, onClose }}>{children}</SheetContent>
    </dialog>
  );
}

function SheetContent({ titleId, onClose, children }: SheetProps & { titleId: string }) {
  const { text } = useFullLanguage();
  return (
    <>
      <div class="heading">
        <h2 id={titleId}>{text.details.title}</h2>
        <IconButton icon="close" label={text.details.close} onClick={onClose} />
      </div>
      <div class="sheet-content">{children}</div>
    </>
  );
}

/** Returns the focus to the element that opened the panel, if the focus is in the panel when it closes. */
function useRestoredFocus(sheet: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const { current } = sheet;
    return () => {
      if (opener instanceof HTMLElement && current?.contains(document.activeElement)) opener.focus();
    };
  }, []);
}

/** Adds a history entry, so that going back closes the sheet. Closing it in another way removes the entry. */
function useBackCloses(close: () => void): void {
  useEffect(() => {
    let isStep = true;
    history.pushState(history.state, '');
    const onBack = () => {
      isStep = false;
      close();
    };
    window.addEventListener('popstate', onBack);
    return () => {
      window.removeEventListener('popstate', onBack);
      if (isStep) history.back();
    };
  }, []);
}
