import { quoted, StoreError } from './error.ts';
import type { FolderPath } from './path.ts';

/** Where a listing goes on: behind the last path that it gave, and with the token of a store that has such. */
export interface Place {
  readonly token?: string | undefined;
  readonly last: string;
}

/** Base64url of JSON, so that it survives a URL as it is. */
export function writeCursor({ token, last }: Place): string {
  return Buffer.from(JSON.stringify([last, ...(token === undefined ? [] : [token])])).toString('base64url');
}

/** Throws `invalid-request` for what no listing of `folder` can have given: else it would pass for the end of one. */
export function readCursor(cursor: string, folder: FolderPath): Place {
  const [last, token] = parse(cursor);
  if (isText(last) && (token === undefined || isText(token))) {
    const place = { last, token };
    if (isBehind(place, folder) && writeCursor(place) === cursor) return place;
  }
  throw noCursor(cursor);
}

export function noCursor(cursor: string, cause?: unknown): StoreError {
  const message = `The cursor ${quoted(cursor)} is not one that a listing of this folder gave.`;
  return new StoreError('invalid-request', message, { cause });
}

/** Whether the place is behind a child; a page on which nothing was found goes on behind the folder, by token alone. */
function isBehind({ last, token }: Place, folder: FolderPath): boolean {
  if (last === folder) return token !== undefined;
  return last.startsWith(folder) && !last.slice(folder.length, -1).includes('/');
}

const isText = (value: unknown): value is string => typeof value === 'string' && value.isWellFormed();

function parse(cursor: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parsed) ? parsed : [];
  } catch {
    return [];
  }
}
