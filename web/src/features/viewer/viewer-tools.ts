import { type Signal, signal } from '@preact/signals';
import { createRef, type RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';
import type { FileEntry } from '../../platform/service/service.ts';
import type { IconName } from '../../ui/icon.tsx';

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
  /** The path of the photo that is visible and sharp. */
  readonly shownPhoto: Signal<string | null>;
  /** The element of everything in the viewer. */
  readonly frame: RefObject<HTMLDivElement | null>;
  /** Aborted when the viewer closes. */
  readonly closed: AbortSignal;
}

export function createViewerState(closed = new AbortController().signal): ViewerState {
  return {
    tools: signal<readonly ViewerTool[]>([]),
    isWrapped: signal(true),
    shownPhoto: signal(null),
    frame: createRef(),
    closed,
  };
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
