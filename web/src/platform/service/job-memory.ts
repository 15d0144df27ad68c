/** The jobs that a tab of the browser follows. They survive a reload, so that the page can report their ends. */
export interface JobMemory {
  /** Returns the IDs of the jobs that a user started; null for an anonymous user. */
  idsOf(user: string | null): readonly string[];
  add(id: string, user: string | null): void;
  delete(id: string): void;
}

/** The key of the session storage: usernames by the IDs of their jobs. */
const KEY = 'holdall jobs';

/** The memory in the session storage. Remembers nothing if the browser denies access to it. */
export const SESSION_JOBS: JobMemory = {
  idsOf: (user) => Object.entries(read()).flatMap(([id, owner]) => (owner === user ? [id] : [])),
  add: (id, user) => write({ ...read(), [id]: user }),
  delete(id) {
    const { [id]: _ended, ...others } = read();
    write(others);
  },
};

function read(): Readonly<Record<string, string | null>> {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? '{}') as Record<string, string | null>;
  } catch {
    return {};
  }
}

function write(jobs: Readonly<Record<string, string | null>>): void {
  try {
    if (Object.keys(jobs).length > 0) sessionStorage.setItem(KEY, JSON.stringify(jobs));
    else sessionStorage.removeItem(KEY);
  } catch {
    // The browser denies access to the storage, or it is full.
  }
}
