/** Records that stay on the device after a reload. Unlike the local storage, they can contain handles of files. */
export interface RecordStore<Value extends { readonly id: string }> {
  all(): Promise<readonly Value[]>;
  /** Adds or replaces records. */
  put(records: readonly Value[]): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
}

const DATABASE = 'holdall';
const VERSION = 1;
const STORE = 'uploads';

/** Opens the records of uploads. Rejects if the browser stores nothing, such as in some private windows. */
export async function openRecordStore<Value extends { readonly id: string }>(): Promise<RecordStore<Value>> {
  const opening = indexedDB.open(DATABASE, VERSION);
  opening.addEventListener('upgradeneeded', () => {
    opening.result.createObjectStore(STORE, { keyPath: 'id' });
  });
  const database = await resultOf(opening);
  // Otherwise this page would block a later version, and the deletion of the data of the site.
  database.addEventListener('versionchange', () => database.close());
  const change = async (work: (store: IDBObjectStore) => void) => {
    const transaction = database.transaction(STORE, 'readwrite');
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    transaction.addEventListener('complete', () => resolve());
    transaction.addEventListener('abort', () => reject(transaction.error ?? new Error('The transaction failed.')));
    work(transaction.objectStore(STORE));
    await promise;
  };
  return {
    all: async () => resultOf(database.transaction(STORE).objectStore(STORE).getAll()),
    put: (records) =>
      change((store) => {
        for (const record of records) store.put(record);
      }),
    remove: (ids) =>
      change((store) => {
        for (const id of ids) store.delete(id);
      }),
  };
}

function resultOf<Result>(request: IDBRequest<Result>): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  request.addEventListener('success', () => resolve(request.result));
  request.addEventListener('error', () => reject(request.error ?? new Error('The request failed.')));
  return promise;
}
