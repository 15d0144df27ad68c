import { type KeptId, timeOfKeptId } from '../../../model/kept-ids.ts';
import { encodePath } from '../../../model/path.ts';
import { FOLDER, isFile, type TreeEntry } from '../branch/objects.ts';

/*
 * The trailers of commit messages (git-interpret-trailers), in which Holdall records what trees don't show. Paths start at
 * the root of the branch. Paths and usernames are percent-encoded, so that they end no line and trigger no action of
 * GitHub.
 */

const ID = 'Holdall-Id: ';
const TRASHED = 'Holdall-Trashed: ';
const RESTORED = 'Holdall-Restored: ';
const USER = 'Holdall-User: ';

/** A file or folder that a commit moved to the trash. */
export interface TrashedEntry {
  readonly id: KeptId;
  /** The path from the root of the branch. That of a folder ends with `/`. */
  readonly path: string;
  /** The entry in the parent of the commit. */
  readonly entry: TreeEntry;
  readonly user?: string | undefined;
}

/** Marks a commit of Holdall. */
export const formatId = (id: string): string => ID + id;

export function formatTrashed({ id, path, entry, user }: TrashedEntry): string {
  const { mode, sha, size } = entry;
  return TRASHED + [id, mode, sha, size, encode(path), ...(user === undefined ? [] : [encode(user)])].join(' ');
}

export const formatRestored = (id: KeptId): string => RESTORED + id;

/** Records the user who changed a file. */
export const formatUser = (path: string, user: string): string => `${USER}${encode(path)} ${encode(user)}`;

/** What the message of a commit records. */
export interface Trailers {
  /** Whether Holdall made the commit. */
  readonly isOwn: boolean;
  readonly trashed: readonly TrashedEntry[];
  readonly restored: readonly KeptId[];
  /** The users who changed or deleted files, by path. */
  readonly users: ReadonlyMap<string, string>;
}

/** Parses the last paragraph of a message. Ignores lines that are invalid: other programs can write them too. */
export function parseTrailers(message: string): Trailers {
  const lines = message.trimEnd().split('\n\n').at(-1)?.split('\n') ?? [];
  const trashed: TrashedEntry[] = [];
  const restored: KeptId[] = [];
  const users = new Map<string, string>();
  let isOwn = false;
  for (const line of lines) {
    if (line.startsWith(ID)) isOwn = true;
    else if (line.startsWith(RESTORED)) restored.push(line.slice(RESTORED.length) as KeptId);
    else if (line.startsWith(USER)) {
      const [path, user] = line.slice(USER.length).split(' ').map(decode);
      if (path !== undefined && user !== undefined) users.set(path, user);
    } else if (line.startsWith(TRASHED)) {
      const parsed = parseTrashed(line.slice(TRASHED.length));
      if (!parsed) continue;
      trashed.push(parsed);
      if (parsed.user !== undefined) users.set(parsed.path, parsed.user);
    }
  }
  return { isOwn, trashed, restored, users };
}

function parseTrashed(text: string): TrashedEntry | undefined {
  const [id = '', mode = '', sha = '', size = '', encodedPath, encodedUser] = text.split(' ');
  const [path = '', user] = [decode(encodedPath), decode(encodedUser)];
  const entry = { mode, sha, size: Number(size) };
  if (!timeOfKeptId(id) || !/^[0-9a-f]{40}$/.test(sha)) return undefined;
  if (path.endsWith('/') ? mode !== FOLDER : !isFile(entry)) return undefined;
  if (!Number.isSafeInteger(entry.size) || entry.size < 0) return undefined;
  return { id: id as KeptId, path, entry, ...(user !== undefined && { user }) };
}

/** `GH-1` is a link to an issue (docs.github.com, "Autolinked references and URLs"). */
const encode = (text: string): string => encodePath(text.toWellFormed()).replace(/(GH)-(?=\d)/gi, '$1%2D');

function decode(text: string | undefined): string | undefined {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
