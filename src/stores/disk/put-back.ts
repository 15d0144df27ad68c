import { rename, rmdir } from 'node:fs/promises';
import { openInside } from './open-inside.ts';
import { giveBack, isTaken } from './place.ts';

/**
 * Gives a folder that was put aside its name back; where somebody has made another one meanwhile, what is not in that.
 * Rejects where something else has the name, and leaves there what could not be given back.
 */
export async function putBackFolder(taken: Buffer, name: Buffer): Promise<void> {
  try {
    await rename(taken, name);
  } catch (error) {
    if (!isTaken(error)) throw error;
    await merge(taken, name);
    await rmdir(taken);
  }
}

async function merge(taken: Buffer, name: Buffer): Promise<void> {
  await using from = await openInside(taken);
  await using to = await openInside(name);
  for (const child of await from.children()) {
    const [source, target] = [from.at(child.name), to.at(child.name)];
    await (child.isDirectory() ? putBackFolder(source, target) : giveBack(source, target));
  }
}
