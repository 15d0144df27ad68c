import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type CompiledQuery,
  type Expression,
  type Kysely,
  type Selectable,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from 'kysely';
import type { Database } from '../database/database.ts';
import type { PropertiesTable } from '../database/tables/properties.ts';
import type { Tables } from '../database/tables/tables.ts';
import { quoted, StoreError } from '../model/error.ts';
import { EXACT_NAMES, type NameComparison } from '../model/name-comparison.ts';
import { type FilePath, type FolderPath, isFolder, parentOf, ROOT } from '../model/path.ts';

/** Maximum number of properties of one file or folder. */
const MAX_PROPERTIES = 200;

/** Maximum characters of all properties of one file or folder. */
const MAX_TOTAL_LENGTH = 256 * 1024;

/** Maximum number of properties that one copy adds, and characters of them: a short request can copy a large folder. */
const MAX_COPIED_PROPERTIES = 50_000;
const MAX_COPIED_LENGTH = 8 * 1024 * 1024;

/** Maximum number of properties that one user has set and copied, and characters of them. All anonymous users count as one. */
const MAX_USER_PROPERTIES = 100_000;
const MAX_USER_LENGTH = 32 * 1024 * 1024;

/** Maximum rows that one statement copies or removes, and characters of them: SQLite blocks the process meanwhile. */
const SLICE_ROWS = 500;
const SLICE_LENGTH = 256 * 1024;

/** The expanded name of a property: its namespace, which is empty for none, and its local name. */
export interface PropertyName {
  readonly namespace: string;
  readonly name: string;
}

/** A property that a client set (a dead property in the terms of RFC 4918). */
export interface Property extends PropertyName {
  /** The property as an XML element with its value. */
  readonly xml: string;
}

/** A change of one property. Without `xml`, the property is removed. */
export interface PropertyChange extends PropertyName {
  readonly xml: string | undefined;
}

/**
 * The table of properties. Every member throws `database-unavailable` if the database can't be used. The paths in the table are
 * keys of `NameComparison.certain`, so that all spellings of a path have the same properties.
 */
export class Properties {
  readonly #database: Database;
  readonly #names: NameComparison;
  #anyQuery: CompiledQuery | undefined;

  /** `names`: how the store compares names. */
  constructor(database: Database, names: NameComparison = EXACT_NAMES) {
    this.#database = database;
    this.#names = names;
  }

  /** Returns the properties of a file or folder. */
  async of(path: FilePath | FolderPath): Promise<readonly Property[]> {
    if (!(await this.#exist())) return [];
    return this.#database.run((db) => selectAll(db).where('path', '=', this.#keyOf(path)).execute());
  }

  /** Returns whether anything directly in a folder has properties. */
  async existIn(folder: FolderPath): Promise<boolean> {
    if (!(await this.#exist())) return false;
    const found = await this.#database.run((db) =>
      db.selectFrom('properties').select('name').where('parent', '=', this.#keyOf(folder)).limit(1).executeTakeFirst(),
    );
    return found !== undefined;
  }

  /** Returns the properties of those of these paths that have some. */
  async ofEach(paths: readonly (FilePath | FolderPath)[]): Promise<ReadonlyMap<string, readonly Property[]>> {
    if (paths.length === 0) return new Map();
    const keys = new Map(paths.map((path) => [path, this.#keyOf(path)]));
    const rows = await this.#database.run((db) =>
      selectAll(db)
        .where('path', 'in', [...keys.values()])
        .execute(),
    );
    const found = Map.groupBy(rows, ({ path }) => path);
    return new Map(
      [...keys].flatMap(([path, key]) => {
        const properties = found.get(key);
        return properties ? [[path, properties]] : [];
      }),
    );
  }

  /**
   * Makes all changes or none, in their order. `user` is undefined for an anonymous user. Throws `too-many-properties` if the file
   * or folder, or the user, would have too many.
   */
  async change(
    path: FilePath | FolderPath,
    changes: readonly PropertyChange[],
    user: string | undefined,
  ): Promise<void> {
    const stored = this.#keyOf(path);
    await this.#database.transaction(async (db) => {
      for (const { namespace, name, xml } of changes) {
        const key = { path: stored, namespace, name };
        await db
          .deleteFrom('properties')
          .where(({ and }) => and(key))
          .execute();
        if (xml === undefined) continue;
        const row = { ...key, parent: parentKey(stored), xml, length: xml.length, username: user ?? null };
        await db.insertInto('properties').values(row).execute();
      }
      // A user who already has too many can still remove some.
      if (changes.every(({ xml }) => xml === undefined)) return;
      const { count, length } = await total(
        db,
        db.selectFrom('properties').select('length').where('path', '=', stored),
      );
      if (count > MAX_PROPERTIES || length > MAX_TOTAL_LENGTH) throw tooMany(path);
      await requireTotal(db, user);
    });
  }

  /** Removes the properties of a file, or of a folder and everything in it. */
  async removeAll(path: FilePath | FolderPath): Promise<void> {
    // Reading does not wait for other writers, and most files have no properties.
    if (!isFolder(path) && (await this.of(path)).length === 0) return;
    if (await this.#exist()) await this.#remove(this.#keyOf(path));
  }

  /**
   * Throws `too-many-properties` if a user can't copy the properties of a file, or of a folder and everything in it, or with
   * `isShallow` of the folder alone. Call it before the copy, because `copyAll` and `copyOne` only add the properties to what was
   * copied.
   */
  async requireCopy(
    from: FilePath | FolderPath,
    user: string | undefined,
    { isShallow = false }: { readonly isShallow?: boolean } = {},
  ): Promise<void> {
    if (!(await this.#exist())) return;
    const source = this.#keyOf(from);
    await this.#database.run(async (db) => {
      const copies = isShallow ? sql<boolean>`path = ${source}` : this.#inTree(source);
      const rows = db.selectFrom('properties').select('length').where(copies);
      const copied = await total(db, rows.limit(MAX_COPIED_PROPERTIES + 1));
      if (copied.count > MAX_COPIED_PROPERTIES || copied.length > MAX_COPIED_LENGTH) throw tooManyCopied(from);
      if (copied.count > 0) await requireTotal(db, user, copied);
    });
  }

  /**
   * Replaces the properties of the destination of a copy by those of its source, for a folder also of everything in it. They then
   * count for `user`. Changes a limited number of rows at a time, so that a failure leaves a part of them.
   */
  async copyAll<Path extends FilePath | FolderPath>(from: Path, to: Path, user: string | undefined): Promise<void> {
    if (!(await this.#exist())) return;
    const [source, destination] = [this.#keyOf(from), this.#keyOf(to)];
    await this.#remove(destination);
    for await (const slice of this.#slices(source)) await this.#copy(slice, { source, destination, user });
  }

  /** Gives a new folder the properties of another one, but nothing in it. */
  async copyOne(from: FolderPath, to: FolderPath, user: string | undefined): Promise<void> {
    const [source, destination] = [this.#keyOf(from), this.#keyOf(to)];
    await this.#database.run((db) => db.deleteFrom('properties').where('path', '=', destination).execute());
    await this.#copy({ first: source, last: source }, { source, destination, user });
  }

  /** Replaces the properties of the destination of a move like `copyAll`. The source then has none, and their users stay the same. */
  async moveAll<Path extends FilePath | FolderPath>(from: Path, to: Path): Promise<void> {
    if (!(await this.#exist())) return;
    const [source, destination] = [this.#keyOf(from), this.#keyOf(to)];
    // A move that only changes the spelling.
    if (source === destination) return;
    await this.#remove(destination);
    for await (const slice of this.#slices(source)) {
      await this.#database.transaction(async (db) => {
        await copy(db, this.#inSlice(slice), { source, destination });
        await db.deleteFrom('properties').where(this.#inSlice(slice)).execute();
      });
    }
  }

  #copy(slice: Slice, { user, ...paths }: CopiedPaths & { readonly user: string | undefined }): Promise<void> {
    return this.#database.transaction(async (db) => {
      await copy(db, this.#inSlice(slice), { ...paths, username: user ?? null });
      // Other copies can be in progress.
      await requireTotal(db, user);
    });
  }

  async #remove(path: FilePath | FolderPath): Promise<void> {
    for await (const slice of this.#slices(path)) {
      await this.#database.run((db) => db.deleteFrom('properties').where(this.#inSlice(slice)).execute());
    }
  }

  /** Yields the paths with properties of a file, or of a folder and everything in it, in the order of their bytes. */
  async *#slices(tree: FilePath | FolderPath): AsyncGenerator<Slice> {
    const path = this.#database.dialect.inByteOrder('path');
    for (let after: string | undefined; ; ) {
      const previous = after;
      const rows = await this.#database.run((db) =>
        db
          .selectFrom('properties')
          .select(['path', 'length'])
          .where(this.#inTree(tree))
          .$if(previous !== undefined, (query) => query.where(sql<boolean>`${path} > ${previous}`))
          .orderBy(path)
          .limit(SLICE_ROWS)
          .execute(),
      );
      const [first] = rows;
      if (!first) return;
      const slice = { first: first.path, last: lastOfSlice(rows) };
      yield slice;
      after = slice.last;
      await nextTurn();
    }
  }

  /** The paths of a file, or of a folder and everything in it. SQLite finds a range in the index, unlike a prefix. */
  #inTree(path: FilePath | FolderPath) {
    if (path === ROOT) return sql<boolean>`1 = 1`;
    // "0" is the character after "/".
    const end = `${path.slice(0, -1)}0`;
    const column = this.#database.dialect.inByteOrder('path');
    return isFolder(path) ? sql<boolean>`${column} >= ${path} and ${column} < ${end}` : sql<boolean>`path = ${path}`;
  }

  #inSlice({ first, last }: Slice) {
    const column = this.#database.dialect.inByteOrder('path');
    return sql<boolean>`${column} >= ${first} and ${column} <= ${last}`;
  }

  #keyOf<Path extends FilePath | FolderPath>(path: Path): Path {
    return this.#names.certain(path) as Path;
  }

  /**
   * Returns whether there are any properties. Mostly there are none, and every change of a file asks, so that the query is
   * compiled once.
   */
  #exist(): Promise<boolean> {
    return this.#database.run(async (db) => {
      this.#anyQuery ??= db.selectFrom('properties').select('name').limit(1).compile();
      return (await db.executeQuery(this.#anyQuery)).rows.length > 0;
    });
  }
}

type Queries = Pick<Kysely<Tables>, 'selectFrom' | 'deleteFrom' | 'insertInto'>;

function selectAll(db: Pick<Queries, 'selectFrom'>) {
  return db.selectFrom('properties').select(['path', 'namespace', 'name', 'xml']).orderBy('namespace').orderBy('name');
}

/** The paths between two paths, inclusive. */
interface Slice {
  readonly first: string;
  readonly last: string;
}

/** Returns the last path of a slice that begins with these rows: with all properties of each path, within the limits. */
function lastOfSlice(rows: readonly Pick<Selectable<PropertiesTable>, 'path' | 'length'>[]): string {
  const paths = [...Map.groupBy(rows, ({ path }) => path)];
  // The last path can have more properties.
  if (rows.length === SLICE_ROWS && paths.length > 1) paths.pop();
  let length = 0;
  let last: string | undefined;
  for (const [path, properties] of paths) {
    length += properties.reduce((sum, property) => sum + property.length, 0);
    if (last !== undefined && length > SLICE_LENGTH) break;
    last = path;
  }
  return last ?? '';
}

interface CopiedPaths {
  readonly source: FilePath | FolderPath;
  readonly destination: FilePath | FolderPath;
}

/** Copies rows to another path. Without `username`, their user stays the same. A property that was set meanwhile remains. */
async function copy(
  db: Queries,
  rows: Expression<SqlBool>,
  { source, destination, username }: CopiedPaths & { readonly username?: string | null },
): Promise<void> {
  const moved = (column: 'path' | 'parent') =>
    sql<string>`cast(${destination} as text) || substr(${sql.ref(column)}, length(cast(${source} as text)) + 1)`;
  await db
    .insertInto('properties')
    .columns(['path', 'parent', 'namespace', 'name', 'xml', 'length', 'username'])
    .expression((eb) =>
      eb
        .selectFrom('properties')
        .select([
          moved('path').as('path'),
          sql<
            string | null
          >`case when path = ${source} then cast(${parentKey(destination)} as text) else ${moved('parent')} end`.as(
            'parent',
          ),
          'namespace',
          'name',
          'xml',
          'length',
          username === undefined ? 'username' : sql<string | null>`cast(${username} as text)`.as('username'),
        ])
        .where(rows),
    )
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

interface Total {
  readonly count: number;
  readonly length: number;
}

/** Returns the number of rows of a query, and the sum of their lengths. */
async function total(db: Queries, rows: SelectQueryBuilder<Tables, 'properties', { length: number }>): Promise<Total> {
  const { count, length } = await db
    .selectFrom(rows.as('found'))
    .select(({ fn }) => [fn.countAll().as('count'), fn.sum('length').as('length')])
    .executeTakeFirstOrThrow();
  return { count: Number(count), length: Number(length ?? 0) };
}

/** Throws `too-many-properties` if a user has too many, together with those that are added. */
async function requireTotal(
  db: Queries,
  user: string | undefined,
  added: Total = { count: 0, length: 0 },
): Promise<void> {
  const { count, length } = await total(
    db,
    db
      .selectFrom('properties')
      .select('length')
      .where('username', user === undefined ? 'is' : '=', user ?? null)
      // Rows of earlier versions, which have no user, can be more.
      .limit(MAX_USER_PROPERTIES + 1),
  );
  if (count + added.count <= MAX_USER_PROPERTIES && length + added.length <= MAX_USER_LENGTH) return;
  const message = `You would have more than ${MAX_USER_PROPERTIES} WebDAV properties, or more than ${MAX_USER_LENGTH} characters of them. Remove some.`;
  throw new StoreError('too-many-properties', message);
}

const parentKey = (path: FilePath | FolderPath): string | null => (path === ROOT ? null : parentOf(path));

function tooMany(path: FilePath | FolderPath): StoreError {
  const message = `${quoted(path)} would have more than ${MAX_PROPERTIES} properties, or more than ${MAX_TOTAL_LENGTH} characters of them.`;
  return new StoreError('too-many-properties', message);
}

function tooManyCopied(path: FilePath | FolderPath): StoreError {
  const message = `${quoted(path)} contains more than ${MAX_COPIED_PROPERTIES} WebDAV properties, or more than ${MAX_COPIED_LENGTH} characters of them. Copy parts of it.`;
  return new StoreError('too-many-properties', message);
}
