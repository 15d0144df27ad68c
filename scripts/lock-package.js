import { readFileSync, writeFileSync } from 'node:fs';

/*
 * Writes the lockfile of the published package (`package/`), so that `npm ci` can install it. It contains the
 * package's dependencies from the project's lockfile, with their versions and checksums.
 */

const read = (/** @type {string} */ path) => JSON.parse(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8'));

const { name, version, license, bin, engines, dependencies } = read('package/package.json');
const { lockfileVersion, packages: all } = read('package-lock.json');

/** @type {Record<string, object>} */
const packages = {};
addAll('', dependencies);

const root = { name, version, license, dependencies, bin, engines };
const sorted = Object.entries(packages).toSorted(([left], [right]) => (left < right ? -1 : 1));
const lock = { name, version, lockfileVersion, requires: true, packages: { '': root, ...Object.fromEntries(sorted) } };
writeFileSync(new URL('../package/package-lock.json', import.meta.url), `${JSON.stringify(lock, null, 2)}\n`);

/**
 * Adds the dependencies of the package at a path in `node_modules`.
 *
 * @param {string} place
 * @param {Readonly<Record<string, string>>} needed
 */
function addAll(place, needed) {
  for (const each of Object.keys(needed)) {
    const found = find(place, each);
    if (found === undefined) throw new Error(`The lockfile has no ${each}, which ${place || name} needs.`);
    if (packages[found]) continue;
    const { dev: _dev, devOptional: _devOptional, ...entry } = all[found];
    packages[found] = entry;
    addAll(found, { ...entry.dependencies, ...entry.optionalDependencies });
  }
}

/**
 * Returns the path at which Node.js finds a package: in the nearest `node_modules`.
 *
 * @param {string} place
 * @param {string} needed
 * @returns {string | undefined}
 */
function find(place, needed) {
  const path = `${place === '' ? '' : `${place}/`}node_modules/${needed}`;
  if (all[path]) return path;
  if (place === '') return undefined;
  return find(place.slice(0, Math.max(0, place.lastIndexOf('/node_modules/'))), needed);
}
