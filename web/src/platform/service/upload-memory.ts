/* Which unfinished upload at the service belongs to which file, also after a reload. */

/** Where it is stored; undefined if the browser stores nothing. */
export type UploadStorage = Pick<Storage, 'getItem' | 'setItem'> | undefined;

/** What identifies an upload of a file: the same file at the same destination. */
export interface UploadKey {
  /** The URL at which uploads begin. */
  readonly endpoint: string;
  readonly folder: string;
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** When the file changed, in milliseconds since 1970. */
  readonly modified: number;
  /** Whether the upload may replace an existing file. */
  readonly replace: boolean;
}

/** The name of the entry in the storage of the browser. */
const ENTRY = 'holdall.uploads';

/** Uploads that are remembered: the oldest ones are forgotten. */
const MAX_REMEMBERED = 1000;

/** Returns the URL of the unfinished upload of a file; undefined if none is known. */
export function rememberedUrl(storage: UploadStorage, key: UploadKey): string | undefined {
  return rememberedUrls(storage)(key);
}

/** Reads all URLs once. Returns a function that returns the URL for a file. */
export function rememberedUrls(storage: UploadStorage): (key: UploadKey) => string | undefined {
  const urls = new Map(read(storage));
  return (key) => urls.get(textOf(key));
}

/** Remembers the URL of an unfinished upload; undefined forgets it. */
export function rememberUrl(storage: UploadStorage, key: UploadKey, url: string | undefined): void {
  const text = textOf(key);
  const uploads = read(storage).filter(([other]) => other !== text);
  if (url !== undefined) uploads.push([text, url]);
  try {
    storage?.setItem(ENTRY, JSON.stringify(uploads.slice(-MAX_REMEMBERED)));
  } catch {
    // The storage is full. After a reload, the upload begins again.
  }
}

function read(storage: UploadStorage): [string, string][] {
  try {
    return JSON.parse(storage?.getItem(ENTRY) ?? '[]') as [string, string][];
  } catch {
    return [];
  }
}

function textOf({ endpoint, folder, name, size, modified, replace }: UploadKey): string {
  return JSON.stringify([endpoint, folder, name, size, modified, replace]);
}
