import { type FilePath, type FolderPath, parseFile, parseFolder } from '../model/path.ts';

/** What the trash records about an item. The file system knows the rest. */
export interface TrashRecord {
  readonly path: FilePath | FolderPath;
  readonly deletedAt: Date;
  readonly user?: string | undefined;
  /** Size in bytes of a folder that was measured. */
  readonly size?: number | undefined;
}

/** Returns the record as JSON. Operators can read it when they restore items by hand. */
export function formatRecord({ path, deletedAt, user, size }: TrashRecord): string {
  return `${JSON.stringify({ path, deletedAt, user, size })}\n`;
}

/** Parses a record; undefined if it is invalid. Other programs can change it. */
export function parseRecord(text: string): TrashRecord | undefined {
  let record: unknown;
  try {
    record = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof record !== 'object' || record === null) return undefined;
  const path = 'path' in record ? parsePath(record.path) : undefined;
  const deletedAt = new Date('deletedAt' in record ? String(record.deletedAt) : '');
  if (path === undefined || Number.isNaN(deletedAt.getTime())) return undefined;
  const user = 'user' in record && typeof record.user === 'string' ? record.user : undefined;
  const size = 'size' in record && Number.isSafeInteger(record.size) ? Number(record.size) : undefined;
  return { path, deletedAt, ...(user !== undefined && { user }), ...(size !== undefined && { size }) };
}

function parsePath(path: unknown): FilePath | FolderPath | undefined {
  if (typeof path !== 'string') return undefined;
  try {
    const parsed = path.endsWith('/') ? parseFolder(path) : parseFile(path);
    // Parsing removes a leading slash, but a record has none. The root is never in the trash.
    return parsed === path && path !== '' ? parsed : undefined;
  } catch {
    return undefined;
  }
}
