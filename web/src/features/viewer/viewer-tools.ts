import { type Signal, signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import type { FileEntry } from '../../platform/service/service.ts';
import type { IconName } from '../../ui/icon.tsx';
import { isField, keysOf } from '../../ui/keyboard.ts';

/** A command of a preview: a button in the header, and keyboard shortcuts. */
export interface ViewerTool {
  readonly id: string;
  /** Absent if the command has only shortcuts. */
  readonly button?: {
    readonly icon: IconName;
    readonly label: string;
    readonly pressed?: boolean;
    readonly disabled?: boolean;
  };
  /** Shortcuts in the form of `keysOf`. */
  readonly keys: readonly string[];
  readonly run: () => void;
}

/** State that the viewer and the preview share. */
export interface ViewerState {
  /** The tools of the shown preview. */
  readonly tools: Signal<readonly ViewerTool[]>;
  /** Whether lines wrap. Applies to all files until the viewer closes. */
  readonly isWrapped: Signal<boolean>;
}

export function createViewerState(): ViewerState {
  return { tools: signal<readonly ViewerTool[]>([]), isWrapped: signal(true) };
}

/** Props of all previews. Each file, and each version of it, has its own component instance. */
export interface PreviewProps {
  readonly entry: FileEntry;
  readonly viewer: ViewerState;
}

/** Shows tools in the header while the component is mounted; `inputs` are their dependencies. */
export function useTools({ tools }: ViewerState, make: () => readonly ViewerTool[], inputs: readonly unknown[]): void {
  // In a layout effect, so that no key reaches outdated tools.
  useLayoutEffect(() => {
    const made = make();
    tools.value = made;
    return () => {
      // The next preview can set its tools before this one is unmounted.
      if (tools.peek() === made) tools.value = [];
    };
  }, inputs);
}

interface Targets {
  readonly stage: HTMLElement | null;
  readonly tools: readonly ViewerTool[];
  /** Whether single-character shortcuts are enabled. */
  readonly characterKeys: boolean;
  readonly previous: () => void;
  readonly next: () => void;
}

/** Handles a key in the viewer. No key reaches the page behind it. */
export function handleKey(event: KeyboardEvent, { stage, tools, characterKeys, previous, next }: Targets): void {
  event.stopPropagation();
  const { target } = event;
  if (event.defaultPrevented || !(target instanceof Element)) return;
  // Fields and players use most keys themselves.
  if (isField(target) || target.closest('video, audio')) return;

  const key = keysOf(event);
  const scroller = stage?.querySelector('[data-scroller]');
  const isInScroller = scroller?.contains(target) === true;
  const isDisabledKey = key.length === 1 && !characterKeys;
  const tool = isDisabledKey
    ? undefined
    : tools.find(({ keys, button }) => keys.includes(key) && button?.disabled !== true);
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

/** Scrolls as the key would with the focus inside the scroller. Returns whether the key scrolls. */
function scroll(scroller: Element, key: string): boolean {
  const page = scroller.clientHeight * 0.9;
  const distance = {
    ArrowUp: -LINE_HEIGHT,
    ArrowDown: LINE_HEIGHT,
    PageUp: -page,
    PageDown: page,
    Home: -Infinity,
    End: Infinity,
  }[key];
  if (distance === undefined) return false;
  const end = distance > 0 ? scroller.scrollHeight : 0;
  scroller.scrollTop = Number.isFinite(distance) ? scroller.scrollTop + distance : end;
  return true;
}

/** Pixels that an arrow key scrolls. */
const LINE_HEIGHT = 40;
