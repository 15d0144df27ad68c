import { computed, type ReadonlySignal, signal } from '@preact/signals';
import { isFolderPath } from '../../platform/paths.ts';
import type { Service } from '../../platform/service/service.ts';
import { asServiceError, isAbort, type ServiceError } from '../../platform/service/service-error.ts';

/** A typed path, in two parts. */
export interface TypedPath {
  /** The path up to the last `/`. */
  readonly folder: string;
  /** The beginning of the name of a subfolder. */
  readonly rest: string;
}

/** Parses what the user types after the first `/`. Returns undefined if the text is no path. */
export function parseTypedPath(text: string): TypedPath | undefined {
  if (!text.startsWith('/')) return undefined;
  const path = text.slice(1).replaceAll(/\/{2,}/g, '/');
  const end = path.lastIndexOf('/') + 1;
  return { folder: path.slice(0, end), rest: path.slice(end) };
}

/** The subfolders of a folder. */
export interface Subfolders {
  readonly paths: readonly string[];
  readonly state: 'reading' | 'ready' | 'failed';
  readonly problem: ServiceError | null;
}

/** Reads the subfolders of the folders that the user types. */
export interface PathCompletion {
  /** The subfolders of the current folder. */
  readonly subfolders: ReadonlySignal<Subfolders>;
  /** Makes a folder the current one. */
  open(folder: string): void;
  /** Aborts the request in progress. */
  end(): void;
}

/** The maximum number of entries of a folder that are read. */
const MAX_ENTRIES = 5_000;

const READING: Subfolders = { paths: [], state: 'reading', problem: null };

export function createPathCompletion(service: Pick<Service, 'list'>): PathCompletion {
  const current = signal<string | null>(null);
  const known = signal<ReadonlyMap<string, Subfolders>>(new Map());
  let reading = new AbortController();
  const set = (folder: string, subfolders: Subfolders) => {
    known.value = new Map(known.peek()).set(folder, subfolders);
  };
  const read = async (folder: string) => {
    reading.abort();
    reading = new AbortController();
    const { signal: aborting } = reading;
    const paths: string[] = [];
    let cursor: string | undefined;
    let count = 0;
    try {
      do {
        const page = await service.list(folder, { cursor, signal: aborting });
        for (const { path } of page.entries) if (isFolderPath(path)) paths.push(path);
        count += page.entries.length;
        ({ cursor } = page);
      } while (cursor !== undefined && count < MAX_ENTRIES);
      if (!aborting.aborted) set(folder, { paths, state: 'ready', problem: null });
    } catch (error) {
      if (aborting.aborted || isAbort(error)) return;
      set(folder, { paths, state: 'failed', problem: asServiceError(error) });
    }
  };
  return {
    subfolders: computed(() => (current.value === null ? READING : (known.value.get(current.value) ?? READING))),
    open(folder) {
      if (current.peek() === folder) return;
      current.value = folder;
      if (known.peek().get(folder)?.state !== 'ready') void read(folder);
    },
    end: () => reading.abort(),
  };
}
