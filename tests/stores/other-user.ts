import { chmod, chown, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** The user of `asOther`, if the tests run as root. */
const OTHER_UID = 65534;

const isRoot = () => process.geteuid?.() === 0;

/** Runs a task as another user, because root can read and delete everything. */
export async function asOther<Result>(task: () => Promise<Result>): Promise<Result> {
  if (!isRoot()) return task();
  process.seteuid?.(OTHER_UID);
  try {
    return await task();
  } finally {
    process.seteuid?.(0);
  }
}

/** Gives a folder to the user of `asOther`. */
export async function giveToOther(folder: string): Promise<void> {
  if (isRoot()) await chown(folder, OTHER_UID, OTHER_UID);
}

/** Gives all permissions for a folder and those below it to their owner, who could otherwise not delete them. */
export async function reopenFolders(root: string): Promise<void> {
  await chmod(root, 0o700);
  for (const entry of await readdir(root, { withFileTypes: true }))
    if (entry.isDirectory()) await reopenFolders(join(root, entry.name));
}
