import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { isFolderPath } from '../paths.ts';

/** What was cut or copied on this page, until it is pasted or something else is. */
export interface Clip {
  readonly kind: 'copy' | 'move';
  readonly paths: readonly string[];
}

export interface Clipboard {
  readonly clip: ReadonlySignal<Clip | null>;
  /** Paths that were cut, which are shown as such. */
  isCut(path: string): boolean;
  put(clip: Clip): void;
  clear(): void;
  /** A file or folder has another path now, and so has all that is in it. */
  follow(from: string, to: string): void;
  /** A file or folder is no more, with all that was in it. */
  forget(path: string): void;
}

export function createClipboard(): Clipboard {
  const clip = signal<Clip | null>(null);
  const cut = computed(() => new Set(clip.value?.kind === 'move' ? clip.value.paths : []));

  const change = (newPaths: (path: string) => readonly string[]) => {
    if (clip.value === null) return;
    const paths = clip.value.paths.flatMap(newPaths);
    clip.value = paths.length === 0 ? null : { ...clip.value, paths };
  };

  return {
    clip,
    isCut: (path) => cut.value.has(path),
    put(next) {
      clip.value = next;
    },
    clear() {
      clip.value = null;
    },
    follow: (from, to) => change((path) => (isInside(path, from) ? [to + path.slice(from.length)] : [path])),
    forget: (gone) => change((path) => (isInside(path, gone) ? [] : [path])),
  };
}

/** Whether a path is `outer`, or lies in it where that is a folder. */
function isInside(path: string, outer: string): boolean {
  return path === outer || (isFolderPath(outer) && path.startsWith(outer));
}
