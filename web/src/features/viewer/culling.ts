import { useLayoutEffect, useRef } from 'preact/hooks';
import { type Action, type ActionId, useActions } from '../actions/use-actions.ts';
import { useFolder } from '../models.ts';
import type { Gallery } from './gallery.ts';

/** The actions of files in the viewer. All others change what it covers. */
const FILE_ACTIONS: readonly ActionId[] = [
  'share',
  'download',
  'copyLink',
  'rename',
  'moveTo',
  'copyTo',
  'delete',
  'moveToTrash',
  'deletePermanently',
  'undo',
  'redo',
  'details',
];

/** Actions that need no file. */
const REVERSING: readonly ActionId[] = ['undo', 'redo'];

/** Actions after which the file can have another name in the folder. */
const RENAMING: readonly ActionId[] = ['rename', ...REVERSING];

/** An action for the shown file. */
export type FileAction = Omit<Action, 'isAvailable'>;

interface Following {
  readonly path: string;
  readonly gallery: Gallery;
  readonly show: (path: string) => void;
  readonly close: () => void;
}

/**
 * Returns the actions that are possible for the shown file. After a deletion or a move, the viewer shows the next file; after its
 * undo, the file again; after a rename, the file under its new name.
 */
export function useFileActions({ path, gallery, show, close }: Following): () => readonly FileAction[] {
  const folder = useFolder();
  const actions = useActions();
  const started = useRef<{ readonly path: string; readonly id: ActionId }>(undefined);
  const removed = useRef<string[]>([]);
  const { entry, next, previous } = gallery;
  const entries = folder.entries.value;

  useLayoutEffect(() => {
    // Without an ETag, the service has not restored it yet.
    const restored = removed.current.findLast((candidate) => {
      const found = folder.entryOf(candidate);
      return found?.type === 'file' && found.etag !== '';
    });
    if (restored !== undefined) {
      removed.current = removed.current.filter((candidate) => candidate !== restored);
      return show(restored);
    }
    const { current } = started;
    if (entry || current?.path !== path) return;
    started.current = undefined;
    const focused = folder.focused.peek();
    if (RENAMING.includes(current.id) && focused !== path && folder.entryOf(focused ?? '')?.type === 'file') {
      return show(focused ?? '');
    }
    removed.current.push(path);
    const neighbour = next ?? previous;
    if (neighbour) show(neighbour.path);
    else close();
  }, [entries, entry === undefined]);

  return () => {
    const ids = entry ? FILE_ACTIONS : REVERSING;
    return (entry ? actions.on(entry) : actions)
      .permitted()
      .filter((action) => ids.includes(action.id) && action.isAvailable())
      .map((action) => ({
        ...action,
        run() {
          started.current = { path, id: action.id };
          // Changes move the focus with the file.
          folder.focused.value = path;
          action.run();
        },
      }));
  };
}
