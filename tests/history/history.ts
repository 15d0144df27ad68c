/**
 * What a run writes down, in the order in which it happened: one process runs all clients, so that what stands
 * before something else was before it. As JSON lines it is a file that can be checked again without the run.
 */
export interface History {
  readonly store: StoreKind;
  readonly seed: number;
  /** Every file that any operation may name. */
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
      /** Which of the services is asked. */
      readonly replica: number;
      readonly operation: Operation;
    }
  | { readonly is: 'end'; readonly at: number; readonly id: number; readonly outcome: Outcome }
  | { readonly is: 'fault'; readonly at: number; readonly fault: 'kill'; readonly replica: number }
  /** A connection of a service to the store. */
  | { readonly is: 'fault'; readonly at: number; readonly fault: 'cut' }
  /** All clients have ended their operations of a round, and what was killed runs again. */
  | { readonly is: 'barrier'; readonly at: number }
  /** Every file and folder was looked at. */
  | { readonly is: 'looked'; readonly at: number }
  /** All contents that the store has: at a path, as versions, and in the trash. Nothing runs meanwhile. */
  | { readonly is: 'kept'; readonly at: number; readonly contents: readonly number[] };

/** Folders end with their `/`. A content is named by its size: no two uploads have the same. */
export type Operation =
  | {
      readonly does: 'upload';
      readonly path: string;
      readonly content: number;
      readonly isNew: boolean;
      /** Where the client leaves: in the middle of the body, or when all of it is sent, without an answer. */
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
  /** A file of the trash is restored to its path, where nothing may be. `item` is its id. */
  | { readonly does: 'restore'; readonly item: string; readonly path: string; readonly content: number }
  /** A folder of the trash is restored, with these contents by their paths. */
  | {
      readonly does: 'restore folder';
      readonly item: string;
      readonly folder: string;
      readonly files: Readonly<Record<string, number>>;
    }
  /** A version of a file becomes its content. `version` is its id. */
  | { readonly does: 'restore version'; readonly version: string; readonly path: string; readonly content: number }
  /** An item of the trash with these contents is permanently removed. */
  | { readonly does: 'purge'; readonly item: string; readonly contents: readonly number[] }
  /** The change that an operation made is undone. `files` are the contents that its paths can get back. */
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

/** What an undo did, as the service tells. */
export interface UndoStep {
  readonly type: string;
  readonly path: string;
  readonly size?: number;
}

export type Outcome =
  /** `change` is its id; `steps` are those of an undo. */
  | { readonly is: 'done'; readonly change?: string; readonly steps?: readonly UndoStep[] }
  /** A fetch that gave a content, whole or a part of it as was asked; null for a 404. */
  | { readonly is: 'found'; readonly content: number | null }
  /** A listing: the sizes of the files in it; null for a 404. */
  | { readonly is: 'listed'; readonly files: Readonly<Record<string, number>> | null }
  | { readonly is: 'refused'; readonly status: number; readonly error: string }
  /** No answer, or one that says that it may have been done or not. */
  | { readonly is: 'unknown'; readonly why: string }
  /** The client left before all was sent: nothing may come of it. */
  | { readonly is: 'left' }
  /** What no answer may ever be: bytes of no version or of several, a 500. */
  | { readonly is: 'wrong'; readonly why: string };

export function formatHistory({ lines, ...header }: History): string {
  return [header, ...lines].map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** What `formatHistory` made. */
export function parseHistory(text: string): History {
  const [header, ...lines] = text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  return { ...header, lines };
}
