import { constants, type Dirent } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { pathOfOpen } from './opened.ts';

/** A folder that was opened without following a link. Names are bytes here, since they need not be UTF-8. */
export interface Inside extends AsyncDisposable {
  /** The path of what has a name in it, through what was opened: a link that is put in the folder's place changes nothing. */
  at(name: Buffer): Buffer;
  children(): Promise<Dirent<Buffer>[]>;
}

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_DIRECTORY;

/** Whoever disposes of it closes it. Rejects with ENOTDIR or ELOOP where there is no folder, as for a link to one. */
export async function openInside(path: Buffer): Promise<Inside> {
  const handle = await open(path, FLAGS);
  const inside = Buffer.from(`${pathOfOpen(handle.fd, path.toString())}/`);
  return {
    at: (name) => Buffer.concat([inside, name]),
    children: () => readdir(inside, { withFileTypes: true, encoding: 'buffer' }),
    [Symbol.asyncDispose]: () => handle.close(),
  };
}
