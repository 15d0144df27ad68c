import { type FilePath, type FolderPath, requireLength } from '../../model/path.ts';
import type { Store } from '../../model/store.ts';
import { bodyIn, pathIn, wrap } from './wrap.ts';

/** Returns the store with `maxPathBytes` as its limit: members throw `path-too-long` for longer paths. */
export function limitPaths(store: Store, maxPathBytes: number): Store {
  const require = (path: FilePath | FolderPath) => requireLength(path, maxPathBytes);
  const limited = wrap(store, {
    async call(_member, run, args) {
      try {
        for (const path of args.map(pathIn)) if (path !== undefined) require(path);
      } catch (error) {
        bodyIn(args)?.destroy();
        throw error;
      }
      return run();
    },
    walk(run, folder) {
      require(folder);
      return run();
    },
  });
  return { ...limited, maxPathBytes: () => maxPathBytes };
}
