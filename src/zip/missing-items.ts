import { escapeInvisible, isStoreError } from '../model/error.ts';

/** Items that the list names. It gives only the number of further ones. */
const MAX_LISTED = 1000;

const NO_NAME = 'its name is not valid, or its path is too long';

/** The files and folders that an archive lacks although the user may read them. */
export class MissingItems {
  #lines: string[] = [];
  #count = 0;

  /** Adds a path that no request can name. */
  addUnnameable(path: string): void {
    this.#add(path, NO_NAME);
  }

  /** Adds an item that the store can't read. Throws any other error. */
  addUnreadable(path: string, error: unknown): void {
    this.#add(path, reasonOf(error));
  }

  /** The text of the list; undefined if nothing is missing. */
  get text(): string | undefined {
    if (this.#count === 0) return undefined;
    this.#shorten();
    const rest = this.#count - this.#lines.length;
    const more = rest > 0 ? [`and ${rest} more`] : [];
    return ['This archive is incomplete. Holdall could not read:', '', ...this.#lines, ...more, ''].join('\n');
  }

  #add(path: string, reason: string): void {
    this.#count++;
    this.#lines.push(`${escapeInvisible(JSON.stringify(path.toWellFormed()))}: ${reason}`);
    if (this.#lines.length === 2 * MAX_LISTED) this.#shorten();
  }

  /** Equal items must result in an equal list, in whatever order they were found. */
  #shorten(): void {
    this.#lines = this.#lines.toSorted().slice(0, MAX_LISTED);
  }
}

/** Returns why an item can't be read. Throws the error if it is not about this item alone. */
function reasonOf(error: unknown): string {
  if (isStoreError(error) && error.code === 'disk-error') return 'the disk reported an error';
  if (isStoreError(error, 'denied')) return 'the service has no permission';
  if (isStoreError(error) && error.code === 'folder-too-large')
    return 'the folder has more entries than the store can list';
  throw error;
}
