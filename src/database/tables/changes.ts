import type { ChangeRecord, ChangeType } from '../../model/change.ts';

/** The topic of the messages that announce new changes. */
export const CHANGES_TOPIC = 'changes';

/** The log of changes. Times are milliseconds since 1970, by the clock of the database. */
export interface ChangesTable {
  /** Consecutive numbers in the order of commits. */
  readonly sequence: number;
  readonly time: number;
  readonly type: ChangeType;
  readonly path: string;
  /** The source of a copy or move. */
  readonly source: string | null;
  readonly size: number | null;
  readonly etag: string | null;
  readonly user_name: string | null;
  /** The ID of the share link through which a visitor made the change. */
  readonly link: string | null;
  /** The `KeptId` in `ChangeRecord`; empty if something was replaced, or can have been, and was not kept. */
  readonly kept: string | null;
  /** The sequence number of the change that this one undoes. */
  readonly undoes: number | null;
  /** The identity in `ChangeRecord`. */
  readonly identity: string | null;
  /** 1 if another program made the change. */
  readonly is_external: 1 | null;
}

/** Returns the value of the column `kept`. */
export function keptColumn({ kept }: ChangeRecord): string | null {
  return kept === null ? '' : (kept ?? null);
}

/** The state of the log: one row. Its lock puts the transactions of all processes in order. */
export interface ChangeFeedTable {
  readonly id: number;
  /** The secret key of cursors, in Base64. It also identifies the database: cursors of another one can't be decrypted. */
  readonly key: string;
  /** The sequence number and the time of the last change. */
  readonly last_sequence: number;
  readonly last_time: number;
  /** The sequence number of the last change that was deleted because of its age; 0 before. */
  readonly expired_sequence: number;
}

/** The processes that record changes. A process that is no longer seen was killed, and its last changes can be missing. */
export interface ChangeWritersTable {
  readonly id: string;
  readonly started_at: number;
  readonly seen_at: number;
}
