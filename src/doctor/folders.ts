import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** The folder itself, or where it is missing the nearest one above it, in which it would be made. */
export async function nearestFolder(folder: string): Promise<string> {
  for (let current = resolve(folder); ; current = dirname(current)) {
    const isThere = await stat(current).then(
      () => true,
      () => false,
    );
    if (isThere || current === dirname(current)) return current;
  }
}

export async function isWritable(folder: string): Promise<boolean> {
  return access(folder, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
}
