import { type CompiledQuery, type Kysely, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import type { Tables } from '../database/tables/tables.ts';
import { quoted, StoreError } from '../model/error.ts';
import { EXACT_NAMES, type NameComparison } from '../model/name-comparison.ts';
import { type FilePath, type FolderPath, isFolder, parentOf, ROOT } from '../model/path.ts';
import { isBelow } from './locks.ts';

/** Maximum number of properties of one file or folder. */
const MAX_PROPERTIES = 200;

/** Maximum characters of all properties of one file or folder. */
const MAX_TOTAL_LENGTH = 256 * 1024;

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

  /** Makes all changes or none, in their order. Throws `too-large` if the file or folder would have too many properties. */
  async change(path: FilePath | FolderPath, changes: readonly PropertyChange[]): Promise<void> {
    const stored = this.#keyOf(path);
    await this.#database.transaction(async (db) => {
      for (const { namespace, name, xml } of changes) {
        const key = { path: stored, namespace, name };
        await db
          .deleteFrom('properties')
          .where(({ and }) => and(key))
          .execute();
        if (xml === undefined) continue;
        await db
          .insertInto('properties')
          .values({ ...key, parent: parentKey(stored), xml })
          .execute();
      }
      const { count, length } = await db
        .selectFrom('properties')
        .select(({ fn }) => [
          fn.countAll<number>().as('count'),
          sql<number | string | null>`sum(length(xml))`.as('length'),
        ])
        .where('path', '=', stored)
        .executeTakeFirstOrThrow();
      if (count > MAX_PROPERTIES || Number(length ?? 0) > MAX_TOTAL_LENGTH) throw tooMany(path);
    });
  }

  /** Removes the properties of a file, or of a folder and everything in it. */
  async removeAll(path: FilePath | FolderPath): Promise<void> {
    // Reading does not wait for other writers, and most files have no properties.
    if (!isFolder(path) && (await this.of(path)).length === 0) return;
    if (await this.#exist()) await this.#database.run((db) => remove(db, this.#keyOf(path)));
  }

  /** Replaces the properties of the destination of a copy by those of its source, for a folder also of everything in it. */
  async copyAll<Path extends FilePath | FolderPath>(from: Path, to: Path): Promise<void> {
    if (!(await this.#exist())) return;
    const [source, destination] = [this.#keyOf(from), this.#keyOf(to)];
    await this.#database.transaction(async (db) => {
      await remove(db, destination);
      await copy(db, source, destination);
    });
  }

  /** Gives a new folder the properties of another one, but nothing in it. */
  async copyOne(from: FolderPath, to: FolderPath): Promise<void> {
    const [source, destination] = [this.#keyOf(from), this.#keyOf(to)];
    await this.#database.transaction(async (db) => {
      await db.deleteFrom('properties').where('path', '=', destination).execute();
      await copyOne(db, source, destination);
    });
  }

  /** Replaces the properties of the destination of a move like `copyAll`. The source then has none. */
  async moveAll<Path extends FilePath | FolderPath>(from: Path, to: Path): Promise<void> {
    if (!(await this.#exist())) return;
    const [source, destination] = [this.#keyOf(from), this.#keyOf(to)];
    // A move that only changes the spelling.
    if (source === destination) return;
    await this.#database.transaction(async (db) => {
      await remove(db, destination);
      await copy(db, source, destination);
      await remove(db, source);
    });
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

async function remove(db: Queries, path: FilePath | FolderPath): Promise<void> {
  const query = db.deleteFrom('properties');
  await (isFolder(path) ? query.where(isBelow(path)) : query.where('path', '=', path)).execute();
}

const COLUMNS = ['path', 'parent', 'namespace', 'name', 'xml'] as const;

async function copyOne(db: Queries, from: FilePath | FolderPath, to: FilePath | FolderPath): Promise<void> {
  await db
    .insertInto('properties')
    .columns(COLUMNS)
    .expression((eb) =>
      eb
        .selectFrom('properties')
        .select([
          sql<string>`cast(${to} as text)`.as('path'),
          sql<string | null>`cast(${parentKey(to)} as text)`.as('parent'),
          'namespace',
          'name',
          'xml',
        ])
        .where('path', '=', from),
    )
    .execute();
}

async function copy(db: Queries, from: FilePath | FolderPath, to: FilePath | FolderPath): Promise<void> {
  await copyOne(db, from, to);
  if (!isFolder(from)) return;
  const moved = (column: 'path' | 'parent') =>
    sql<string>`cast(${to} as text) || substr(${sql.ref(column)}, length(cast(${from} as text)) + 1)`;
  await db
    .insertInto('properties')
    .columns(COLUMNS)
    .expression((eb) =>
      eb
        .selectFrom('properties')
        .select([moved('path').as('path'), moved('parent').as('parent'), 'namespace', 'name', 'xml'])
        .where(isBelow(from))
        .where('path', '!=', from),
    )
    .execute();
}

const parentKey = (path: FilePath | FolderPath): string | null => (path === ROOT ? null : parentOf(path));

function tooMany(path: FilePath | FolderPath): StoreError {
  const message = `${quoted(path)} would have more than ${MAX_PROPERTIES} properties, or more than ${MAX_TOTAL_LENGTH} characters of them.`;
  return new StoreError('too-large', message);
}
