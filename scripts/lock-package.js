import { readFileSync, writeFileSync } from 'node:fs';
import { collectPackages, readLockfile } from './lockfile.js';

/*
 * Writes the lockfile of the published package (`package/`), so that `npm ci` can install it. It contains the
 * package's dependencies from the project's lockfile, with their versions and checksums.
 */

const { name, version, license, bin, engines, dependencies, optionalDependencies } = JSON.parse(
  readFileSync(new URL('../package/package.json', import.meta.url), 'utf8'),
);
const { lockfileVersion, packages: all } = readLockfile();
const needed = Object.keys({ ...dependencies, ...optionalDependencies });
const packages = [...collectPackages(all, needed)].toSorted().map((path) => {
  const {
    dev: _dev,
    devOptional: _devOptional,
    ...entry
  } = /** @type {import('./lockfile.js').LockedPackage} */ (all[path]);
  return [path, entry];
});

const root = { name, version, license, dependencies, optionalDependencies, bin, engines };
const lock = {
  name,
  version,
  lockfileVersion,
  requires: true,
  packages: { '': root, ...Object.fromEntries(packages) },
};
writeFileSync(new URL('../package/package-lock.json', import.meta.url), `${JSON.stringify(lock, null, 2)}\n`);
