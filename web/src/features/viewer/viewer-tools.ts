import { type Signal, signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import type { FileEntry } from '../../platform/service/service.ts';
import type { IconName } from '../../ui/icons.ts';
import { pressed } from '../../ui/keys.ts';
import { isText } from '../../ui/writing.ts';

/** Something that can be done with what a preview shows, by a button in the header and by keys. */
export interface ViewerTool {
  readonly id: string;
  /** Without one it is done by its keys alone. */
  readonly button?: {
    readonly icon: IconName;
    readonly label: string;
    readonly pressed?: boolean;
    readonly disabled?: boolean;
  };
  /** As `pressed` writes them. */
  readonly keys: readonly string[];
  readonly run: () => void;
}

/** What the viewer and the preview in it know of each other. */
export interface ViewerState {
  /** The tools of the preview that is shown. */
  readonly tools: Signal<readonly ViewerTool[]>;
  /** Whether lines of text are wrapped; it stays so from file to file. */
  readonly isWrapped: Signal<boolean>;
}

export function createViewerState(): ViewerState {
  return { tools: signal<readonly ViewerTool[]>([]), isWrapped: signal(true) };
}

/** What each preview is given. It is drawn anew for each file, and for each version of it. */
export interface PreviewProps {
  readonly entry: FileEntry;
  readonly viewer: ViewerState;
}

/** Puts tools into the header for as long as the component is there; `inputs` are what they depend on. */
export function useTools({ tools }: ViewerState, make: () => readonly ViewerTool[], inputs: readonly unknown[]): void {
  // At once, so that a key never meets the tools of a moment ago.
  useLayoutEffect(() => {
    const made = make();
    tools.value = made;
    return () => {
      // The next preview may have put its own there before this one goes.
      if (tools.peek() === made) tools.value = [];
    };
  }, inputs);
}

interface Targets {
  readonly stage: HTMLElement | null;
  readonly tools: readonly ViewerTool[];
  /** Whether single characters are keys, which a person can turn off. */
  readonly characterKeys: boolean;
  readonly previous: () => void;
  readonly next: () => void;
}

/** Does what a key is for in the viewer. None of them reaches the page behind it. */
export function handleKey(event: KeyboardEvent, { stage, tools, characterKeys, previous, next }: Targets): void {
  event.stopPropagation();
  const { target } = event;
  if (event.defaultPrevented || !(target instanceof Element)) return;
  // These have a use of their own for nearly all keys.
  if (isText(target) || target.closest('video, audio')) return;

  const key = pressed(event);
  const scroller = stage?.querySelector('[data-scroller]');
  const isInScroller = scroller?.contains(target) === true;
  const isDisabledKey = key.length === 1 && !characterKeys;
  const tool = isDisabledKey ? undefined : tools.find(({ keys, button }) => keys.includes(key) && button?.disabled !== true);
  const run =
    tool?.run ?? (isInScroller && scrollsAcross(scroller) ? undefined : { ArrowLeft: previous, ArrowRight: next }[key]);
  if (run) {
    event.preventDefault();
    run();
  } else if (scroller && !isInScroller && scroll(scroller, key)) {
    event.preventDefault();
  }
}

function scrollsAcross({ scrollWidth, clientWidth }: Element): boolean {
  return scrollWidth > clientWidth;
}

/** Scrolls as the key would if the focus were in there. Gives whether it is such a key. */
function scroll(scroller: Element, key: string): boolean {
  const page = scroller.clientHeight * 0.9;
  const distance = { ArrowUp: -LINE_HEIGHT, ArrowDown: LINE_HEIGHT, PageUp: -page, PageDown: page, Home: -Infinity, End: Infinity }[
    key
  ];
  if (distance === undefined) return false;
  const end = distance > 0 ? scroller.scrollHeight : 0;
  scroller.scrollTop = Number.isFinite(distance) ? scroller.scrollTop + distance : end;
  return true;
}

/** Pixels that an arrow scrolls. */
const LINE_HEIGHT = 40;
