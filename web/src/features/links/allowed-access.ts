import type { LinkAccess } from '../../model/links/link-form.ts';
import { isFolderPath, parentOf } from '../../platform/paths.ts';
import { usePermissions } from '../models.ts';

/** Returns what the user can allow the visitors of a link to do. The service decides in the end. */
export function useAllowedAccess(path: string): readonly LinkAccess[] {
  const permissions = usePermissions();
  if (!isFolderPath(path)) return permissions.allowsIn(parentOf(path), 'read') ? ['view'] : [];
  const canRead = permissions.allowsIn(path, 'read');
  const canWrite = permissions.allowsIn(path, 'write');
  if (canRead && canWrite) return ['view', 'upload', 'both'];
  return [...(canRead ? (['view'] as const) : []), ...(canWrite ? (['upload'] as const) : [])];
}
