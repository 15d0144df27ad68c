import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { ancestorsOf } from '../platform/paths.ts';

/** The entries that the user cut or copied. */
export interface Clip {
  readonly kind: 'copy' | 'move';
  readonly paths: readonly string[];
}

/** The clipboard of the page. It is not that of the system. */
export interface Clipboard {
  readonly clip: ReadonlySignal<Clip | null>;
  /** Returns whether a path was cut. The page shows such entries faded. */
  isCut(path: string): boolean;
  put(clip: Clip): void;
  clear(): void;
  /** Replaces the paths of renamed and moved entries, and of everything in renamed and moved folders. */
  remapPaths(newPaths: ReadonlyMap<string, string>): void;
  /** Removes deleted entries, and everything in deleted folders. */
  forget(paths: readonly string[]): void;
}

/** `onRemap` is called with the new paths of renamed and moved entries. */
export function createClipboard(onRemap?: (newPaths: ReadonlyMap<string, string>) => void): Clipboard {
  const clip = signal<Clip | null>(null);
  const cut = computed(() => new Set(clip.value?.kind === 'move' ? clip.value.paths : []));

  const update = (replacementsOf: (path: string) => readonly string[]) => {
    if (clip.value === null) return;
    const paths = clip.value.paths.flatMap(replacementsOf);
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
    remapPaths(newPaths) {
      update((path) => [remapPath(path, newPaths)]);
      onRemap?.(newPaths);
    },
    forget(paths) {
      const removed = new Set(paths);
      update((path) => (outermost(path, removed) === undefined ? [path] : []));
    },
  };
}

/** Returns the new path of an entry that was renamed or moved, or that is in a folder that was. */
export function remapPath(path: string, newPaths: ReadonlyMap<string, string>): string {
  const from = outermost(path, newPaths);
  const to = from === undefined ? undefined : newPaths.get(from);
  return from === undefined || to === undefined ? path : to + path.slice(from.length);
}

/** Returns the outermost of the `paths` that is `path` itself or a folder that contains it. */
function outermost(path: string, paths: { has(path: string): boolean }): string | undefined {
  return [...ancestorsOf(path), path].find((each) => paths.has(each));
}
