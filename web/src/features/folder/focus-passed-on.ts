import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Folder } from '../../model/folder/folder.ts';
import { isDialogInFront } from '../../ui/writing.ts';
import { useFolder } from '../models.ts';

/** What stands in the place of the entries. */
export type ContentsKind = 'failed' | 'loading' | 'empty' | 'no-match' | 'entries';

export function kindOf({ state, count, entries }: Folder): ContentsKind {
  if (state.value !== 'ready') return state.value;
  if (count.value === 0) return 'empty';
  return entries.value.length === 0 ? 'no-match' : 'entries';
}

/** Gives the focus that went with one kind of contents to the next that can have it. */
export function useFocusPassedOn(kind: ContentsKind, scroller: RefObject<HTMLElement | null>): void {
  const folder = useFolder();
  const last = useRef<ContentsKind | null>(null);
  const isLost = useRef(false);
  // After dialogs that close at the same time, which give the focus back first.
  useEffect(() => {
    // What the page began with took it from nothing; while it is being read, there is nothing that could have it.
    if (last.current !== null && last.current !== 'loading' && last.current !== kind) isLost.current = true;
    last.current = kind;
    if (kind === 'loading' || !isLost.current) return;
    isLost.current = false;
    if (document.activeElement !== document.body || isDialogInFront()) return;
    if (kind === 'entries') folder.focused.value ??= folder.entries.peek()[0]?.path ?? null;
    const stop = kind === 'entries' ? '[data-path][tabindex="0"]' : 'button, [tabindex]';
    scroller.current?.querySelector<HTMLElement>(stop)?.focus({ preventScroll: true });
  }, [kind]);
}
