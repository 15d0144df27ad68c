import { isFolderPath, isWithin, ROOT } from '../../platform/paths.ts';
import type { FeedChange } from '../../platform/service/changes.ts';

/** What a change says about an entry of the shown folder. */
export interface Hint {
  readonly path: string;
  /** Whether the entry exists after the change; undefined if the change does not tell. */
  readonly exists: boolean | undefined;
  /** The ETag of the file after the change, if known. */
  readonly etag?: string | undefined;
}

/** How a change affects the shown folder. */
export type Effect =
  | { readonly kind: 'none' }
  /** Anything in the folder can have changed, or the folder itself is gone. */
  | { readonly kind: 'outdated' }
  /** The folder was created, or existed already. */
  | { readonly kind: 'created' }
  /** The folder was renamed or moved, or one that contains it. */
  | { readonly kind: 'moved'; readonly to: string }
  /** Some entries can have changed. `moved` is an entry that was renamed within the folder. */
  | {
      readonly kind: 'entries';
      readonly hints: readonly Hint[];
      readonly moved: { readonly from: string; readonly to: string } | undefined;
    };

/** Returns how a change affects a folder. */
export function effectOf(change: FeedChange, shown: string): Effect {
  const { type, path, from } = change;
  if (type === 'resync') return { kind: 'outdated' };
  const isMove = type === 'file.moved' || type === 'folder.moved';
  if (isMove && from !== undefined && from !== ROOT && isFolderPath(from) && isWithin(shown, from)) {
    return { kind: 'moved', to: path + shown.slice(from.length) };
  }
  if (isFolderPath(path) && isWithin(shown, path)) return { kind: type === 'folder.created' ? 'created' : 'outdated' };
  const source = isMove ? from : undefined;
  const hints = [...(source === undefined ? [] : hintsOfSource(source, shown)), ...hintsOfPath(change, shown)];
  if (hints.length === 0) return { kind: 'none' };
  const isRename =
    source !== undefined && hints.length === 2 && hints.every((hint) => [source, path].includes(hint.path));
  return { kind: 'entries', hints, moved: isRename ? { from: source, to: path } : undefined };
}

/** A path that something was moved from no longer exists. The folder that contained it does. */
function hintsOfSource(source: string, shown: string): readonly Hint[] {
  return childOf(source, shown) === source ? [{ path: source, exists: false }] : [];
}

function hintsOfPath({ type, path, etag }: FeedChange, shown: string): readonly Hint[] {
  const child = childOf(path, shown);
  if (child === undefined) return [];
  const isDeleted = type === 'file.deleted' || type === 'folder.deleted';
  // The parent folders of a new file are created without a change of their own.
  if (child !== path) return isDeleted ? [] : [{ path: child, exists: true }];
  return [{ path, exists: type === 'folder.changed' ? undefined : !isDeleted, etag }];
}

/** Returns the entry of a folder that `path` is, or is in; undefined if it is outside of the folder. */
function childOf(path: string, folder: string): string | undefined {
  if (!path.startsWith(folder) || path === folder) return undefined;
  const end = path.indexOf('/', folder.length);
  return end < 0 ? path : path.slice(0, end + 1);
}
