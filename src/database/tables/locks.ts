import type { FilePath, FolderPath } from '../../model/path.ts';

const LOCKS_TOPIC = 'locks:';

/** Returns the topic of the messages that announce changes of the locks of a file or folder. */
export const lockTopicOf = (path: FilePath | FolderPath): string => LOCKS_TOPIC + path;

/** Returns the file or folder whose locks a message announces; undefined for messages of other topics. */
export function pathOfLockTopic(topic: string): FilePath | FolderPath | undefined {
  // Only parsed paths are sent.
  return topic.startsWith(LOCKS_TOPIC) ? (topic.slice(LOCKS_TOPIC.length) as FilePath | FolderPath) : undefined;
}

/** The WebDAV locks. Times are milliseconds since 1970, by the clock of the database. */
export interface LocksTable {
  /** The lock token, without its scheme `urn:uuid:`. */
  readonly token: string;
  /** Identifies the lock for clients that don't hold it. */
  readonly id: string;
  /** The path of the locked file or folder; empty for the root. */
  readonly path: string;
  /** The parent folder of `path`; null for the root. */
  readonly parent: string | null;
  readonly scope: 'exclusive' | 'shared';
  /** Whether everything in the folder is locked too: 1 or 0. */
  readonly is_deep: number;
  /** What the client said about the owner, as XML; null if it said nothing. */
  readonly owner: string | null;
  /** The username of the user who holds the lock; null for an anonymous user. */
  readonly username: string | null;
  /** The ID of the app token with which the lock was set; null without one. */
  readonly app_token: string | null;
  readonly timeout_seconds: number;
  readonly created_at: number;
  readonly expires_at: number;
}

/** One row. The transactions that add locks update it first, so that they run one after the other. */
export interface LockTurnsTable {
  readonly id: number;
  readonly turns: number;
}
