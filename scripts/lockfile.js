import { readFileSync } from 'node:fs';

/**
 * An entry of `packages` in package-lock.json. Its key is the path of the package, such as `node_modules/a/node_modules/b`.
 *
 * @typedef {{
 *   version: string, license?: string, integrity?: string, optional?: boolean,
 *   dev?: boolean, devOptional?: boolean,
 *   dependencies?: Record<string, string>, optionalDependencies?: Record<string, string>,
 * }} LockedPackage
 */

/** @returns {{ lockfileVersion: number, packages: Record<string, LockedPackage> }} */
export function readLockfile() {
  return JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
}

/**
 * Returns the paths of packages and of everything that they need, optional packages of all platforms included. Throws if
 * one is missing.
 *
 * @param {Readonly<Record<string, LockedPackage>>} packages
 * @param {Iterable<string>} names
 * @returns {Set<string>}
 */
export function collectPackages(packages, names) {
  /** @type {Set<string>} */
  const paths = new Set();
  const addAll = (/** @type {string} */ parent, /** @type {Iterable<string>} */ needed) => {
    for (const name of needed) {
      const path = findPackage(packages, parent, name);
      if (path === undefined) throw new Error(`The lockfile has no ${name}, which ${parent || 'the package'} needs.`);
      if (paths.has(path)) continue;
      paths.add(path);
      addAll(path, dependencyNames(packages[path]));
    }
  };
  addAll('', names);
  return paths;
}

/**
 * Returns the path at which Node.js finds a package: in the nearest `node_modules`.
 *
 * @param {Readonly<Record<string, LockedPackage>>} packages
 * @param {string} parent the path of the package that needs it, or '' for the project
 * @param {string} name
 * @returns {string | undefined}
 */
export function findPackage(packages, parent, name) {
  const path = `${parent === '' ? '' : `${parent}/`}node_modules/${name}`;
  if (packages[path]) return path;
  if (parent === '') return undefined;
  return findPackage(packages, parent.slice(0, Math.max(0, parent.lastIndexOf('/node_modules/'))), name);
}

/**
 * @param {LockedPackage | undefined} entry
 * @returns {string[]}
 */
export function dependencyNames(entry) {
  return Object.keys({ ...entry?.dependencies, ...entry?.optionalDependencies });
}

/**
 * Returns the name of the package at a path.
 *
 * @param {string} path
 */
export function packageName(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}
