/** A text that the user has not saved, and the version that it is based on. */
export interface Draft {
  readonly etag: string;
  readonly base: string;
  readonly text: string;
}

/** The texts that were not saved. They survive a reload of the tab, and end with it. */
export interface Drafts {
  read(path: string): Draft | undefined;
  /** Has no effect if the storage is full or not allowed. */
  put(path: string, draft: Draft): void;
  remove(path: string): void;
}

const PREFIX = 'holdall-draft';

/** `user` separates the drafts of users who sign in one after the other. */
export function createDrafts(storage: Storage | undefined, user: string): Drafts {
  const keyOf = (path: string) => `${PREFIX} ${JSON.stringify([user, path])}`;
  return {
    read(path) {
      try {
        const value: unknown = JSON.parse(storage?.getItem(keyOf(path)) ?? 'null');
        return isDraft(value) ? value : undefined;
      } catch {
        return undefined;
      }
    },
    put(path, draft) {
      try {
        storage?.setItem(keyOf(path), JSON.stringify(draft));
      } catch {
        // An outdated draft would look like the latest one.
        storage?.removeItem(keyOf(path));
      }
    },
    remove: (path) => storage?.removeItem(keyOf(path)),
  };
}

function isDraft(value: unknown): value is Draft {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['etag', 'base', 'text'].every((key) => typeof Reflect.get(value, key) === 'string')
  );
}
