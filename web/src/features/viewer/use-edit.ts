import { isEditable } from '../../platform/preview-kinds.ts';
import type { FileEntry } from '../../platform/service/service.ts';
import { useActions } from '../actions/actions.ts';
import { usePermissions, useVisit } from '../models.ts';

/** The shortcut in the viewer. */
export const EDIT_KEY = 'e';

/** Returns a function that opens a file in the editor; undefined if it is no text or too large, or the user can't change it. */
export function useEdit(entry: FileEntry | undefined): (() => void) | undefined {
  const actions = useActions();
  const permissions = usePermissions();
  const visit = useVisit();
  const isAllowed = visit === null && permissions.allows('read') && permissions.allows('manage');
  if (!entry || !isAllowed || !isEditable(entry)) return undefined;
  return () => actions.edit(entry.path);
}
