import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { ancestorsOf } from '../platform/paths.ts';

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
  /** Files and folders have other paths now, and so has all that is in them. */
  follow(newPaths: ReadonlyMap<string, string>): void;
  /** Files and folders are no more, with all that was in them. */
  forget(paths: readonly string[]): void;
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
    follow: (newPaths) =>
      change((path) => {
        const from = outermost(path, newPaths);
        const to = from === undefined ? undefined : newPaths.get(from);
        return from === undefined || to === undefined ? [path] : [to + path.slice(from.length)];
      }),
    forget(paths) {
      const gone = new Set(paths);
      change((path) => (outermost(path, gone) === undefined ? [path] : []));
    },
  };
}

/** The folder around a path, or the path itself, that is among others. */
function outermost(path: string, others: { has(path: string): boolean }): string | undefined {
  return [...ancestorsOf(path), path].find((place) => others.has(place));
}
