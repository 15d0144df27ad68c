import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { Creator } from '../access/creator.ts';
import type { Policy } from '../access/policy.ts';
import type { Database } from '../database/database.ts';
import type { ChangesTable } from '../database/tables/changes.ts';
import type { Tables } from '../database/tables/tables.ts';
import { quoted, StoreError } from '../model/error.ts';
import { type FilePath, type FolderPath, foldersOf, isFolder, parentOf, ROOT } from '../model/path.ts';

/** Changes that one transaction applies. On SQLite, it blocks the process. */
const BATCH = 200;

/** Changes of other types that the next search would read again. */
const MAX_SKIPPED = 1000;

/**
 * Whether a change moves, ends or continues links. Those of other programs do not: they are noticed afterwards, and a file that
 * is gone can be one that a program saves.
 */
const isFollowed = sql<boolean>`is_external is null and type in (
  'file.moved', 'file.deleted', 'file.restored', 'folder.copied', 'folder.moved', 'folder.deleted', 'folder.restored')`;

/** Whether the log has changes that the links have not followed, in a column: a boolean, or 1 and 0. */
export const isBehind = sql<boolean | number>`exists (
  select 1 from changes where sequence > (select sequence from link_feed) and ${isFollowed})`.as('is_behind');

/** The columns of a change that links follow. */
type FollowedChange = Pick<Selectable<ChangesTable>, 'sequence' | 'type' | 'path' | 'source' | 'kept'>;

/**
 * Applies the changes of files in the log to the links: each change once, in the order of the log, whichever process recorded
 * it. A process that is killed after it has recorded a change therefore leaves no link at its old path.
 */
export class LinkFeed {
  readonly #database: Database;
  readonly #policy: () => Policy;

  constructor(database: Database, policy: () => Policy) {
    this.#database = database;
    this.#policy = policy;
  }

  /**
   * Applies the changes that are in the log. Returns the sequence number of the last change that the links have followed.
   * Costs one query if there are none.
   */
  async follow(): Promise<number> {
    const { sequence, newest, is_behind } = await this.#database.run((db) =>
      db
        .selectFrom(['link_feed', 'change_feed'])
        .select(['link_feed.sequence', 'change_feed.last_sequence as newest', isBehind])
        .executeTakeFirstOrThrow(),
    );
    if (!is_behind && newest - sequence < MAX_SKIPPED) return sequence;
    for (;;) {
      const applied = await this.#database.transaction((db) => this.#applyNext(db));
      if (applied.isLast) return applied.sequence;
      await nextTurn();
    }
  }

  async #applyNext(db: Transaction<Tables>): Promise<{ readonly sequence: number; readonly isLast: boolean }> {
    const start = await lockFeed(db);
    const { newest } = await db.selectFrom('change_feed').select('last_sequence as newest').executeTakeFirstOrThrow();
    const hasLinks = (await db.selectFrom('links').select('id').limit(1).executeTakeFirst()) !== undefined;
    const changes = hasLinks
      ? await db
          .selectFrom('changes')
          .select(['sequence', 'type', 'path', 'source', 'kept'])
          .where('sequence', '>', start)
          .where('sequence', '<=', newest)
          .where(isFollowed)
          .orderBy('sequence')
          .limit(BATCH)
          .execute()
      : [];
    for (const change of changes) await this.#apply(db, change);
    const isLast = changes.length < BATCH;
    const sequence = isLast ? newest : (changes.at(-1)?.sequence ?? newest);
    await db.updateTable('link_feed').set({ sequence }).execute();
    return { sequence, isLast };
  }

  async #apply(db: Transaction<Tables>, { type, path, source, kept }: FollowedChange): Promise<void> {
    // An empty ID says that nothing was kept.
    const trashId = kept || undefined;
    if (type === 'file.restored' || type === 'folder.restored') {
      if (trashId !== undefined) await restoreAt(db, trashId, path);
      return;
    }
    const isMove = type === 'file.moved' || type === 'folder.moved';
    const isDelete = type === 'file.deleted' || type === 'folder.deleted';
    // A file that replaces another one is its new content, as programs save it. A folder that replaces another one is not.
    const isReplaced = type === 'folder.moved' || (type === 'folder.copied' && kept !== null);
    if (isDelete || isReplaced) await endAt(db, path, trashId);
    if (isMove && source !== null) await this.#moveAll(db, source, path);
  }

  /** Moves the links to an item, and to everything in it. Ends those whose creator does not manage the new place. */
  async #moveAll(db: Transaction<Tables>, from: string, to: string): Promise<void> {
    const links = await db
      .selectFrom('links')
      .select(['id', 'path', 'creator'])
      .where('ended', 'is', null)
      .where(isAt(from))
      .execute();
    for (const { id, path, creator } of links) {
      const moved = movedPath(path, from, to) as FilePath | FolderPath;
      const change = this.#manages(creator, moved) ? { path: moved } : { ended: 'permission' as const };
      await db.updateTable('links').set(change).where('id', '=', id).execute();
    }
  }

  #manages(creator: string | null, path: FilePath | FolderPath): boolean {
    const user = creator === null ? undefined : (JSON.parse(creator) as Creator);
    const policy = this.#policy();
    return isFolder(path) ? policy.allowsThroughout(user, 'manage', path) : policy.allows(user, 'manage', path);
  }
}

/**
 * Throws `overloaded` if links have followed a change of an item since they had followed the change `since`: a new link to
 * the item would not follow that change. Until the end of the transaction, links follow no other changes.
 */
export async function requireUnchanged(
  db: Transaction<Tables>,
  path: FilePath | FolderPath,
  since: number,
): Promise<void> {
  const followed = await lockFeed(db);
  const paths = [path, ...foldersOf(parentOf(path))];
  const change = await db
    .selectFrom('changes')
    .select('sequence')
    .where('sequence', '>', since)
    .where('sequence', '<=', followed)
    .where(isFollowed)
    .where(({ eb, or }) => or([eb('path', 'in', paths), eb('source', 'in', paths)]))
    .limit(1)
    .executeTakeFirst();
  if (change)
    throw new StoreError('overloaded', `Another request changes ${quoted(path)} at the same time. Try again.`);
}

/** Makes the other processes wait until the end of the transaction. Returns the sequence number that the links have followed. */
async function lockFeed(db: Transaction<Tables>): Promise<number> {
  const { sequence } = await db
    .updateTable('link_feed')
    .set(({ ref }) => ({ sequence: ref('sequence') }))
    .returning('sequence')
    .executeTakeFirstOrThrow();
  return sequence;
}

/** Ends the links to an item, and to everything in it. `trashId`: where the item is in the trash, if it is. */
async function endAt(db: Kysely<Tables>, path: string, trashId: string | undefined): Promise<void> {
  await db
    .updateTable('links')
    .set({ ended: 'item', removed_as: trashId ?? null, removed_from: path })
    .where('ended', 'is', null)
    .where(isAt(path))
    .execute();
}

/** Continues the links that ended when an item moved to the trash, at the path to which it was restored. */
async function restoreAt(db: Kysely<Tables>, trashId: string, to: string): Promise<void> {
  const links = await db.selectFrom('links').selectAll().where('removed_as', '=', trashId).execute();
  for (const { id, path, removed_from: from } of links) {
    await db
      .updateTable('links')
      .set({ path: movedPath(path, from ?? path, to), ended: null, removed_as: null, removed_from: null })
      .where('id', '=', id)
      .execute();
  }
}

/** Matches the links to an item, and to everything in it. The comparison of both engines is exact, unlike that of LIKE. */
export const isAt = (path: string) =>
  path.endsWith('/') || path === ROOT
    ? sql<boolean>`substr(path, 1, length(cast(${path} as text))) = cast(${path} as text)`
    : sql<boolean>`path = ${path}`;

const movedPath = (path: string, from: string, to: string) => to + path.slice(from.length);
