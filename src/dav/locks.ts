import { randomUUID } from 'node:crypto';
import { type CompiledQuery, type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { Database } from '../database/database.ts';
import { type LocksTable, lockTopicOf } from '../database/tables/locks.ts';
import type { Tables } from '../database/tables/tables.ts';
import { quoted, StoreError } from '../model/error.ts';
import { EXACT_NAMES, type NameComparison } from '../model/name-comparison.ts';
import { type FilePath, type FolderPath, isFolder, isWithin, parentOf, ROOT } from '../model/path.ts';
import { covers, type Lock, type LockedChange, pathsTo } from './lock.ts';

/** Maximum number of locks of one user, and of all anonymous users. */
const MAX_LOCKS = 10_000;

/** Maximum number of shared locks that cover a file or folder: `PROPFIND` repeats those of a folder for everything in it. */
const MAX_SHARED_LOCKS = 8;

export interface NewLock
  extends Pick<Lock, 'path' | 'scope' | 'isDeep' | 'owner' | 'user' | 'appToken' | 'timeoutSeconds'> {}

/** The table of locks. Every member throws `database-unavailable` if the database can't be used. */
export class Locks {
  readonly #database: Database;
  readonly #names: NameComparison;
  #anyQuery: CompiledQuery | undefined;

  /** `names`: how the store compares names. */
  constructor(database: Database, names: NameComparison = EXACT_NAMES) {
    this.#database = database;
    this.#names = names;
  }

  /**
   * Adds a lock. Returns the conflicting lock instead, if one exists: two locks of the same file or folder, or of
   * a folder and something in it, must both be shared (RFC 4918, section 6.1). Throws `invalid-request` if the user, or the file
   * or folder, has too many.
   */
  async create(wanted: NewLock): Promise<{ readonly lock: Lock } | { readonly conflict: Lock }> {
    const outcome = await this.#add(wanted);
    if ('lock' in outcome) await this.#announce(wanted.path);
    return outcome;
  }

  #add({ path, scope, isDeep, owner, user, appToken, timeoutSeconds }: NewLock): ReturnType<Locks['create']> {
    const { now } = this.#database.dialect;
    return this.#database.transaction(async (db) => {
      await db.updateTable('lock_turns').set('turns', sql<number>`turns + 1`).where('id', '=', 1).execute();
      await db.deleteFrom('locks').where('expires_at', '<=', now).execute();
      const related = await this.#concerning(db, { path, isMember: false, isTree: isDeep });
      const conflict = related.find(
        (lock) => (scope === 'exclusive' || lock.scope === 'exclusive') && overlaps(lock, { path, isDeep }),
      );
      if (conflict) return { conflict };
      const crowded = findCrowded(related, { path, isDeep });
      if (crowded !== undefined) throw tooManyShared(crowded);
      await requireFewLocks(db, user);
      const row = await db
        .insertInto('locks')
        .values({
          token: randomUUID(),
          id: randomUUID(),
          path,
          parent: path === ROOT ? null : parentOf(path),
          scope,
          is_deep: isDeep ? 1 : 0,
          owner: owner ?? null,
          username: user ?? null,
          app_token: appToken ?? null,
          timeout_seconds: timeoutSeconds,
          created_at: now,
          expires_at: sql<number>`${now} + ${sql.lit(timeoutSeconds * 1000)}`,
        })
        .returningAll()
        .returning(now.as('now'))
        .executeTakeFirstOrThrow();
      return { lock: toLock(row) };
    });
  }

  /** Starts the timeout of a lock again. Returns undefined if the lock has ended. */
  async refresh(token: string, timeoutSeconds: number): Promise<Lock | undefined> {
    const { now } = this.#database.dialect;
    const row = await this.#database.run((db) =>
      db
        .updateTable('locks')
        .set({
          timeout_seconds: timeoutSeconds,
          expires_at: sql<number>`${now} + ${sql.lit(timeoutSeconds * 1000)}`,
        })
        .where('token', '=', token)
        .where('expires_at', '>', now)
        .returningAll()
        .returning(now.as('now'))
        .executeTakeFirst(),
    );
    const lock = row && toLock(row);
    if (lock) await this.#announce(lock.path);
    return lock;
  }

  /** Ends a lock. Returns whether it existed. */
  async remove(token: string): Promise<boolean> {
    const removed = await this.#database.run((db) =>
      db.deleteFrom('locks').where('token', '=', token).returning('path').executeTakeFirst(),
    );
    if (removed) await this.#announce(pathOf(removed));
    return removed !== undefined;
  }

  /** Returns the lock with an ID; undefined if it has ended. */
  async find(id: string): Promise<Lock | undefined> {
    const row = await this.#database.run((db) => this.#select(db).where('id', '=', id).executeTakeFirst());
    return row && toLock(row);
  }

  /** Returns the locks that cover a file or folder. */
  async covering(path: FilePath | FolderPath): Promise<readonly Lock[]> {
    const locks = await this.concerning({ path, isMember: false, isTree: false });
    return locks.filter((lock) => covers(lock, path));
  }

  /** Returns the locks that cover a folder, and those of the files and folders directly in it. */
  async inFolder(folder: FolderPath): Promise<readonly Lock[]> {
    if (!(await this.#exist())) return [];
    const rows = await this.#database.run((db) =>
      this.#select(db)
        .$if(this.#hasExactNames, (query) =>
          query.where(({ eb, or }) => or([eb('path', 'in', pathsTo(folder)), eb('parent', '=', folder)])),
        )
        .execute(),
    );
    return this.#toLocks(rows, folder).filter(
      (lock) => covers(lock, folder) || (lock.path !== ROOT && parentOf(lock.path) === folder),
    );
  }

  /** Returns the locks that can concern a change. */
  async concerning(change: LockedChange): Promise<readonly Lock[]> {
    if (!(await this.#exist())) return [];
    return this.#database.run((db) => this.#concerning(db, change));
  }

  /** Ends the locks of a file, or of a folder and everything in it. */
  async removeAll(path: FilePath | FolderPath): Promise<void> {
    if (!(await this.#exist())) return;
    const paths = await this.#spellingsOf(path);
    if (paths?.length === 0) return;
    const { numDeletedRows } = await this.#database.run((db) =>
      db
        .deleteFrom('locks')
        .where((eb) => (isFolder(path) && !paths ? isBelow(path) : eb('path', 'in', paths ?? [path])))
        .executeTakeFirstOrThrow(),
    );
    if (numDeletedRows > 0n) await this.#announce(path);
  }

  /**
   * Returns the paths of locks, in any spelling, that are certainly a path or in it. Undefined if the store compares names
   * exactly.
   */
  async #spellingsOf(path: FilePath | FolderPath): Promise<readonly string[] | undefined> {
    if (this.#hasExactNames) return undefined;
    const rows = await this.#database.run((db) => this.#select(db).execute());
    const key = this.#names.certain(path);
    return rows
      .map((row) => row.path)
      .filter((locked) => {
        const lockedKey = this.#names.certain(locked);
        return lockedKey === key || (isFolder(path) && lockedKey.startsWith(key));
      });
  }

  /** Whether all spellings of a path are different files, so that queries can compare paths. */
  get #hasExactNames(): boolean {
    return this.#names === EXACT_NAMES;
  }

  /** Returns locks with paths that are spelled like `path` as far as the store might treat them as the same. */
  #toLocks(rows: readonly LockRow[], path: FilePath | FolderPath): readonly Lock[] {
    const locks = rows.map(toLock);
    if (this.#hasExactNames) return locks;
    const spelled = path.split('/');
    const keys = this.#names.possible(path).split('/');
    return locks.map((lock) => {
      const segments = lock.path.split('/');
      const lockKeys = this.#names.possible(lock.path).split('/');
      const differing = lockKeys.findIndex((key, index) => key !== keys[index]);
      const common = differing === -1 ? segments.length : differing;
      return { ...lock, path: [...spelled.slice(0, common), ...segments.slice(common)].join('/') as Lock['path'] };
    });
  }

  /** Announces to all processes that the locks of a file, or of a folder and everything in it, have changed. */
  #announce(path: FilePath | FolderPath): Promise<void> {
    return this.#database.notify(lockTopicOf(path));
  }

  /**
   * Returns whether there are any locks. Mostly there are none, and every change of a file asks, so that the query is compiled
   * once.
   */
  #exist(): Promise<boolean> {
    return this.#database.run(async (db) => {
      const { now } = this.#database.dialect;
      this.#anyQuery ??= db.selectFrom('locks').select('id').where('expires_at', '>', now).limit(1).compile();
      return (await db.executeQuery(this.#anyQuery)).rows.length > 0;
    });
  }

  async #concerning(
    db: Kysely<Tables> | Transaction<Tables>,
    { path, isTree }: LockedChange,
  ): Promise<readonly Lock[]> {
    const rows = await this.#select(db)
      .$if(this.#hasExactNames, (query) =>
        query.where(({ eb, or }) =>
          isTree && isFolder(path)
            ? or([eb('path', 'in', pathsTo(path)), isBelow(path)])
            : eb('path', 'in', pathsTo(path)),
        ),
      )
      .execute();
    return this.#toLocks(rows, path);
  }

  #select(db: Pick<Kysely<Tables>, 'selectFrom'>) {
    const { now } = this.#database.dialect;
    return db.selectFrom('locks').selectAll().select(now.as('now')).where('expires_at', '>', now).orderBy('created_at');
  }
}

/** Returns whether two locks cover a common file or folder. */
function overlaps(lock: Lock, wanted: Pick<Lock, 'path' | 'isDeep'>): boolean {
  return covers(lock, wanted.path) || covers({ ...lock, ...wanted }, lock.path);
}

/** Returns a file or folder that already has the maximum number of locks, and that another lock would cover; undefined for none. */
function findCrowded(
  locks: readonly Lock[],
  { path, isDeep }: Pick<Lock, 'path' | 'isDeep'>,
): FilePath | FolderPath | undefined {
  const byPath = Map.groupBy(locks, (lock) => lock.path);
  const countAt = (place: FilePath | FolderPath) =>
    pathsTo(place).reduce(
      (sum, each) => sum + (byPath.get(each) ?? []).filter((lock) => covers(lock, place)).length,
      0,
    );
  const below = [...byPath.keys()].filter((place) => isDeep && isFolder(path) && isWithin(place, path));
  return [path, ...below].find((place) => countAt(place) >= MAX_SHARED_LOCKS);
}

/** The paths of a folder and of everything in it. The comparison of both engines is exact, unlike that of LIKE. */
const isBelow = (folder: FolderPath) =>
  sql<boolean>`substr(path, 1, length(cast(${folder} as text))) = cast(${folder} as text)`;

function tooManyShared(path: FilePath | FolderPath): StoreError {
  const message = `${MAX_SHARED_LOCKS} shared locks already cover ${quoted(path)}, the maximum. Try again later.`;
  return new StoreError('invalid-request', message);
}

async function requireFewLocks(db: Transaction<Tables>, user: string | undefined): Promise<void> {
  const { count } = await db
    .selectFrom('locks')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('username', user === undefined ? 'is' : '=', user ?? null)
    .executeTakeFirstOrThrow();
  if (count < MAX_LOCKS) return;
  const message = `You already hold ${MAX_LOCKS} locks, the maximum. Unlock some files.`;
  throw new StoreError('invalid-request', message);
}

/** Only parsed paths are stored. */
const pathOf = ({ path }: Pick<Selectable<LocksTable>, 'path'>) => path as FilePath | FolderPath;

type LockRow = Selectable<LocksTable> & { readonly now: number };

function toLock(row: LockRow): Lock {
  return {
    token: row.token,
    id: row.id,
    path: pathOf(row),
    scope: row.scope,
    isDeep: row.is_deep === 1,
    owner: row.owner ?? undefined,
    user: row.username ?? undefined,
    appToken: row.app_token ?? undefined,
    timeoutSeconds: row.timeout_seconds,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    remainingSeconds: Math.max(0, Math.ceil((row.expires_at - row.now) / 1000)),
  };
}
