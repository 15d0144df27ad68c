/**
 * The events of a run in the order in which they happened: one process runs all clients, so the order is exact. As JSON
 * lines, a history can be checked again without the run.
 */
export interface History {
  readonly store: StoreKind;
  readonly seed: number;
  /** All files that operations can name. */
  readonly paths: readonly string[];
  readonly lines: readonly Line[];
}

export type StoreKind = 'disk' | 'bucket' | 'versioned-bucket' | 'github';

/** `at`: milliseconds since the beginning of the run. */
export type Line =
  | {
      readonly is: 'call';
      readonly at: number;
      readonly id: number;
      readonly client: string;
      /** The service that gets the request. */
      readonly replica: number;
      /** The protocol of the client. Operations that WebDAV does not have are of the HTTP API. */
      readonly protocol?: 'dav' | undefined;
      readonly operation: Operation;
    }
  | { readonly is: 'end'; readonly at: number; readonly id: number; readonly outcome: Outcome }
  | { readonly is: 'fault'; readonly at: number; readonly fault: 'kill'; readonly replica: number }
  /** A connection of a service to the store. */
  | { readonly is: 'fault'; readonly at: number; readonly fault: 'cut' }
  /** All operations of a round have ended, and killed services run again. */
  | { readonly is: 'barrier'; readonly at: number }
  /** Every file and folder was read. */
  | { readonly is: 'looked'; readonly at: number }
  /** All contents in the store: at a path, as versions, and in the trash. No operation is running. */
  | { readonly is: 'kept'; readonly at: number; readonly contents: readonly number[] };

/** Paths of folders end with `/`. The size of a content identifies it: no two uploads have the same size. */
export type Operation =
  | {
      readonly does: 'upload';
      readonly path: string;
      readonly content: number;
      readonly isNew: boolean;
      /** When the client disconnects: in the middle of the body, or after the body without waiting for the response. */
      readonly leaves?: 'early' | 'late' | undefined;
    }
  | {
      readonly does: 'fetch';
      readonly path: string;
      readonly range?: readonly [start: number, end: number] | undefined;
    }
  | { readonly does: 'list'; readonly folder: string }
  | { readonly does: 'delete'; readonly path: string }
  | { readonly does: 'copy' | 'move' | 'rename'; readonly from: string; readonly to: string; readonly replace: boolean }
  | { readonly does: 'create folder' | 'delete folder'; readonly folder: string }
  | {
      readonly does: 'copy folder' | 'move folder' | 'rename folder';
      readonly from: string;
      readonly to: string;
      readonly replace: boolean;
    }
  /** Restores a file of the trash to its path, which must be free. `item` is its ID. */
  | { readonly does: 'restore'; readonly item: string; readonly path: string; readonly content: number }
  /** Restores a folder of the trash, with these contents by path. */
  | {
      readonly does: 'restore folder';
      readonly item: string;
      readonly folder: string;
      readonly files: Readonly<Record<string, number>>;
    }
  /** Restores a version of a file. `version` is its ID. */
  | { readonly does: 'restore version'; readonly version: string; readonly path: string; readonly content: number }
  /** Permanently deletes an item of the trash with these contents. */
  | { readonly does: 'purge'; readonly item: string; readonly contents: readonly number[] }
  /** Undoes the change of an operation. `files` are the contents that it can restore. */
  | {
      readonly does: 'undo';
      readonly change: string;
      readonly of: UndoableOperation;
      readonly files: Readonly<Record<string, readonly number[]>>;
    };

/** Folders that replace others are not undone here, because it is unknown what they replaced. */
export type UndoableOperation = Extract<
  Operation,
  {
    readonly does:
      | 'upload'
      | 'delete'
      | 'copy'
      | 'move'
      | 'rename'
      | 'restore'
      | 'restore version'
      | 'create folder'
      | 'delete folder'
      | 'copy folder'
      | 'move folder'
      | 'rename folder';
  }
>;

/** An operation that WebDAV has, too. Renames are moves there. */
export type DavOperation = Exclude<
  Operation,
  { readonly does: 'restore' | 'restore folder' | 'restore version' | 'purge' | 'undo' }
>;

/** A step of an undo, from the response of the service. */
export interface UndoStep {
  readonly type: string;
  readonly path: string;
  readonly size?: number;
}

export type Outcome =
  /** `change` is its ID; `steps` are those of an undo. */
  | { readonly is: 'done'; readonly change?: string; readonly steps?: readonly UndoStep[] }
  /** A fetch of a content or of the requested part of it; null for a 404. */
  | { readonly is: 'found'; readonly content: number | null }
  /** The sizes of the files in a listing; null for a 404. */
  | { readonly is: 'listed'; readonly files: Readonly<Record<string, number>> | null }
  | { readonly is: 'refused'; readonly status: number; readonly error: string }
  /** The folder of the new file does not exist. The HTTP API creates it instead. */
  | { readonly is: 'without folder'; readonly error: string }
  /** No response, or one that leaves open whether the change was made. */
  | { readonly is: 'unknown'; readonly why: string }
  /** The client disconnected before the end of the body: the upload must have no effect. */
  | { readonly is: 'left' }
  /** A response that is always a violation: a 500, or bytes of no version or of several. */
  | { readonly is: 'wrong'; readonly why: string };

export function formatHistory({ lines, ...header }: History): string {
  return [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Parses the output of `formatHistory`. */
export function parseHistory(text: string): History {
  const [header, ...lines] = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return { ...header, lines };
}
