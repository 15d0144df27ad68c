import type { ComponentChildren, RefObject } from 'preact';
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { IconButton } from '../controls/button.tsx';
import { useLanguage, usePage } from '../page.ts';
import { useSwipes } from '../previews/swipe.ts';
import type { Entry } from '../service/service.ts';
import { EntryDetails, FolderDetails, SeveralDetails } from './entry-details.tsx';
import './details-sheet.css';

interface SheetProps {
  onClose: () => void;
  children: ComponentChildren;
}

/**
 * The details of one or several entries, or of the folder where there are none: beside the rest of the page where
 * there is room, else in a dialog that comes from below.
 */
export function DetailsSheet({ entries, onClose }: { entries: readonly Entry[]; onClose: () => void }) {
  const Sheet = useIsNarrow() ? SheetBelow : SheetBeside;
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
  const dialog = useRef<HTMLDialogElement>(null);
  useSwipes(dialog, { left: undefined, right: undefined, down: onClose });
  useBackCloses(onClose);
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class="details-sheet below"
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={({ target, currentTarget }) => {
        if (target === currentTarget) onClose();
      }}
    >
      <SheetContent {...{ titleId, onClose }}>{children}</SheetContent>
    </dialog>
  );
}

function SheetContent({ titleId, onClose, children }: SheetProps & { titleId: string }) {
  const { text } = useLanguage();
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

/** Whether there is no room for two columns. */
function useIsNarrow(): boolean {
  const [query] = useState(() => window.matchMedia('(width < 48rem)'));
  const [isNarrow, setNarrow] = useState(query.matches);
  useEffect(() => {
    const look = () => setNarrow(query.matches);
    query.addEventListener('change', look);
    return () => query.removeEventListener('change', look);
  }, [query]);
  return isNarrow;
}
