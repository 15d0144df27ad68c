import { Database } from '../../src/database/database.ts';
import { type DatabaseLocation, openEngine } from '../../src/database/open.ts';
import type { Store } from '../../src/model/store.ts';
import { type ContentLimits, createDatabaseContents, DATABASE_LIMITS } from '../../src/uploads/database-contents.ts';
import type { Owner } from '../../testing/at-end.ts';
import type { Backend } from '../contract/backend.ts';

/** A store whose uploads in parts are in a database. */
export type DatabaseUploadsStore = Store & Required<Pick<Store, 'createUpload' | 'openUpload'>>;

/** Gives a store uploads in parts, each with the row in `uploads` that it must have. */
export function withDatabaseUploads(
  store: Store,
  database: Database,
  limits: ContentLimits = DATABASE_LIMITS,
): DatabaseUploadsStore {
  const contents = createDatabaseContents(database, store, limits);
  return {
    ...store,
    openUpload: contents.openUpload,
    async createUpload(id, target, options) {
      await addUploadRow(database, id);
      await contents.createUpload(id, target, options);
    },
  };
}

/** Returns a backend whose uploads in parts are in a database. `locate` returns an empty one, until its owner ends. */
export function databaseUploads(backend: Backend, locate: (owner: Owner) => Promise<DatabaseLocation>): Backend {
  return {
    ...backend,
    capabilities: [...backend.capabilities, 'createUpload', 'openUpload'],
    async open() {
      const opened = await backend.open();
      const ends: (() => Promise<void>)[] = [];
      const database = await startDatabase(await locate({ after: (end) => void ends.push(end) }));
      const close = async () => {
        await database.close();
        for (const end of ends) await end();
        await opened.close();
      };
      return { ...opened, store: withDatabaseUploads(opened.store, database), close };
    },
  };
}

export async function startDatabase(location: DatabaseLocation): Promise<Database> {
  const database = new Database(await openEngine(location));
  await database.start();
  return database;
}

async function addUploadRow(database: Database, id: string): Promise<void> {
  const unknown = {
    owner: null,
    owner_has_entry: 0,
    type: null,
    size: null,
    modified: null,
    condition: null,
    metadata: null,
    etag: null,
  };
  const row = { ...unknown, id, path: 'a', created_at: 0, expires_at: 0, writer: null, writer_until: null };
  await database.run((db) =>
    db
      .insertInto('uploads')
      .values({ ...row, is_wanted: 0, is_committing: 0 })
      .execute(),
  );
}
