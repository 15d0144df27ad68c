import { readdir, readFile } from 'node:fs/promises';
import type { Plugin } from 'vite';

const FOLDER = new URL('src/app-icons/', import.meta.url);

/** Adds the icons of the installed web UI to the build and its manifest, although no module imports them. */
export function emitAppIcons(): Plugin {
  return {
    name: 'app-icons',
    async buildStart() {
      for (const name of (await readdir(FOLDER)).toSorted()) {
        const source = await readFile(new URL(name, FOLDER));
        this.emitFile({ type: 'asset', name, originalFileName: `src/app-icons/${name}`, source });
      }
    },
  };
}
