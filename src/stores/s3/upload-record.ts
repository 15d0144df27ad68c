import type { FilePath } from '../../model/path.ts';
import { parseFile } from '../../model/path.ts';
import type { Key } from './keys.ts';
import { OWN_FOLDER } from './own-folder.ts';

/** What the bucket records about an upload whose content arrives in several requests. */
export interface UploadRecord {
  readonly file: FilePath;
  readonly type: string;
  /** The modification time that the client set, in milliseconds since 1970. */
  readonly modified?: number | undefined;
  /** Bytes of the whole content, if known. */
  readonly size?: number | undefined;
  /** Bytes of every part except the last. */
  readonly partSize: number;
  /** The username of the user who uploads. */
  readonly user?: string | undefined;
  /** The multipart upload. Absent while no part is complete. */
  readonly uploadId?: string | undefined;
  /**
   * The time until which presigned parts can arrive, in milliseconds since 1970. While it is set, every part that has
   * arrived out of order has been verified.
   */
  readonly directUntil?: number | undefined;
  /** The object that a commit creates, while the commit is in progress or interrupted. */
  readonly commit?: CommittedObject | undefined;
}

/** An object by which a repeated commit recognizes the result of the first one. */
export interface CommittedObject {
  readonly etag: string;
  readonly size: number;
}

/** Returns the number of bytes of a part; undefined if the content has no such part. Parts are numbered from 1. */
export function sizeOfPart(
  { size, partSize }: Pick<UploadRecord, 'size' | 'partSize'>,
  partNumber: number,
): number | undefined {
  if (partNumber < 1) return undefined;
  if (size === undefined) return partSize;
  const rest = size - (partNumber - 1) * partSize;
  return rest > 0 ? Math.min(rest, partSize) : undefined;
}

/** The start of the keys of all objects of uploads. */
export const UPLOADS: Key = `${OWN_FOLDER}uploads/`;

/** Returns the start of the keys of all objects of an upload. */
export const folderOfUpload = (id: string): Key => `${UPLOADS}${id}/`;

/** Returns the ID of the upload to which an object belongs. */
export const idOfUpload = (key: Key): string => key.slice(UPLOADS.length).split('/', 1)[0] ?? '';

export const keyOfRecord = (id: string): Key => `${folderOfUpload(id)}upload.json`;

/** Returns the key of the rest: the bytes after `parts` parts that don't fill another one. */
export const keyOfRest = (id: string, { parts, size }: Pick<Rest, 'parts' | 'size'>): Key =>
  `${folderOfUpload(id)}rest-${parts}-${size}`;

/** An object with the rest of a content. */
export interface Rest {
  readonly key: Key;
  /** The number of parts before it. */
  readonly parts: number;
  readonly size: number;
}

/** Parses the key of a rest; undefined for the key of another object. */
export function parseRest(id: string, key: Key): Rest | undefined {
  const [, parts, size] = /^rest-(\d{1,5})-(\d{1,15})$/.exec(key.slice(folderOfUpload(id).length)) ?? [];
  return parts === undefined || size === undefined ? undefined : { key, parts: Number(parts), size: Number(size) };
}

export function formatUploadRecord({ file, ...record }: UploadRecord): Buffer {
  return Buffer.from(`${JSON.stringify({ path: file, ...record })}\n`);
}

/** Parses a record; undefined if it is invalid. Other programs can change it. */
export function parseUploadRecord(text: string): UploadRecord | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed !== 'object' || parsed === null) return undefined;
    const { path, type, modified, size, partSize, user, uploadId, directUntil, commit } = parsed as Readonly<
      Record<string, unknown>
    >;
    if (typeof path !== 'string' || typeof type !== 'string' || !isCount(partSize) || partSize === 0) return undefined;
    const file = parseFile(path);
    // Parsing removes a leading slash, but a record has none.
    if (file !== path) return undefined;
    return {
      file,
      type,
      partSize,
      modified: Number.isSafeInteger(modified) ? Number(modified) : undefined,
      size: isCount(size) ? size : undefined,
      user: typeof user === 'string' ? user : undefined,
      uploadId: typeof uploadId === 'string' ? uploadId : undefined,
      directUntil: isCount(directUntil) ? directUntil : undefined,
      commit: parseCommit(commit),
    };
  } catch {
    return undefined;
  }
}

function parseCommit(commit: unknown): CommittedObject | undefined {
  if (typeof commit !== 'object' || commit === null || !('etag' in commit) || !('size' in commit)) return undefined;
  const { etag, size } = commit;
  return typeof etag === 'string' && isCount(size) ? { etag, size } : undefined;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
