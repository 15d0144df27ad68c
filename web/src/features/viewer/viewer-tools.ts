import { type Signal, signal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';
import type { FileEntry } from '../../platform/service/service.ts';
import type { IconName } from '../../ui/icons.ts';

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
