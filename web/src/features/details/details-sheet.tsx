import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { IconButton } from '../../ui/button.tsx';
import { useMedia } from '../../ui/media.ts';
import { useModalDialog } from '../../ui/use-modal-dialog.ts';
import { useSwipes } from '../../ui/use-swipes.ts';
import { usePage } from '../page.ts';
import type { Entry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language-context.ts';
import { EntryDetails, FolderDetails, SeveralDetails } from './entry-details.tsx';
import './details-sheet.css';

/** Windows in which there is no room for two columns. */
const ONE_COLUMN = '(width < 48rem)';

interface SheetProps {
  onClose: () => void;
  children: ComponentChildren;
}

/**
 * The details of one or several entries, or of the folder where there are none: beside the rest of the page where
 * there is room, else in a dialog that comes from below.
 */
export function DetailsSheet({ entries, onClose }: { entries: readonly Entry[]; onClose: () => void }) {
  const Sheet = useMedia(ONE_COLUMN) ? SheetBelow : SheetBeside;
  return (
    <Sheet onClose={onClose}>
      <DetailsOf entries={entries} />
    </Sheet>
  );
}

function DetailsOf({ entries }: { entries: readonly Entry[] }) {
  const { folder } = usePage();
  const [first] = entries;
  if (!first) return <FolderDetails key={folder.path.value} path={folder.path.value} />;
  return entries.length === 1 ? <EntryDetails key={first.path} entry={first} /> : <SeveralDetails entries={entries} />;
}

function SheetBeside({ onClose, children }: SheetProps) {
  const titleId = useId();
  const sheet = useRef<HTMLElement>(null);
  useFocusGivenBack(sheet);
  return (
    <aside ref={sheet} class="details-sheet beside" aria-labelledby={titleId}>
      <SheetContent {...{ titleId, onClose }}>{children}</SheetContent>
    </aside>
  );
}

function SheetBelow({ onClose, children }: SheetProps) {
  const titleId = useId();
  const { dialog, listeners } = useModalDialog(onClose);
  useSwipes(dialog, { left: undefined, right: undefined, down: onClose });
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

/** Gives the focus back to what opened the sheet, if it is in there when the sheet goes. */
function useFocusGivenBack(sheet: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const opener = document.activeElement;
    const { current } = sheet;
    return () => {
      if (opener instanceof HTMLElement && current?.contains(document.activeElement)) opener.focus();
    };
  }, []);
}

/** Makes going back in the history close it, by a step that leads nowhere else and goes when it is closed otherwise. */
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
