import { readlink, stat, statfs } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { servedFolder } from '../config/config.ts';
import { type Config, SETTINGS } from '../config/settings.ts';
import { foldNames } from '../model/name-comparison.ts';
import { SettingsError } from '../settings/setting.ts';
import { isLocalFileSystem } from '../stores/disk/file-system-type.ts';
import { isReservedName } from '../stores/disk/reserved-names.ts';

/** Holdall's own files, and the consequence if users can read or change them. */
const PRIVATE = {
  STATE_DIR: 'the key of all sessions',
  ACCESS_FILE: 'the hashes of passwords, and all rights',
  AUDIT_LOG: 'the audit log',
  CACHE_DIR: 'thumbnails of files that they may not see',
} as const;

/**
 * Requires that Holdall's own files are outside the served folder, or in its hidden folder. Throws `SettingsError` with a line
 * for each setting that breaks this rule.
 */
export async function requirePrivatePaths(config: Config): Promise<void> {
  const served = servedFolder(config);
  if (served === undefined) return;
  const problems: string[] = [];
  for (const name of ['STATE_DIR', 'ACCESS_FILE', 'AUDIT_LOG', 'CACHE_DIR'] as const) {
    const path = config[name];
    if (path === undefined || (name === 'AUDIT_LOG' && (path === 'stdout' || path === 'off'))) continue;
    if (!(await isServed(path, served.path))) continue;
    problems.push(
      `${name} ${path} must not lie in ${served.setting}: users who can read or write there would have ${PRIVATE[name]}. Choose a place outside of ${resolve(served.path)}. Example: ${name}=${SETTINGS[name].example}`,
    );
  }
  if (problems.length > 0) throw new SettingsError(problems);
}

/**
 * Returns whether a path leads through the served folder or ends in it, except through its hidden folder. A link that
 * leads out of the served folder counts, because users with write permission can replace it.
 */
export async function isServed(path: string, diskRoot: string): Promise<boolean> {
  const root = (await wayTo(diskRoot)).at(-1) ?? resolve(diskRoot);
  const isRoot = await comparisonWith(root);
  const places = await wayTo(path);
  for (const [index, place] of places.entries()) {
    let below = '';
    for (let folder = place; ; folder = dirname(folder)) {
      if (await isRoot(folder)) {
        if (below === '' ? index === places.length - 1 : !isReservedName(below)) return true;
        break;
      }
      if (dirname(folder) === folder) break;
      below = basename(folder);
    }
  }
  return false;
}

/**
 * Returns a function that checks whether a folder is `root`, also under another spelling or through a bind mount.
 * Network and FUSE file systems can give each spelling its own inode number. There, paths that differ only in case
 * are treated as equal.
 */
async function comparisonWith(root: string): Promise<(folder: string) => Promise<boolean>> {
  const identity = await stat(root, { bigint: true }).catch(() => undefined);
  const type = await statfs(root).then(
    (found) => found.type,
    () => undefined,
  );
  const mayIgnoreCase = type !== undefined && !isLocalFileSystem(type);
  return async (folder) => {
    if (folder === root || (mayIgnoreCase && foldNames(folder) === foldNames(root))) return true;
    const found = identity && (await stat(folder, { bigint: true }).catch(() => undefined));
    return found !== undefined && found.dev === identity?.dev && found.ino === identity.ino;
  };
}

/** The number of symbolic links that Linux follows in one path. */
const MAX_LINKS = 40;

/**
 * Returns the paths that the system resolves for `path`, each without symbolic links above it: every segment, every
 * link, and finally the target. Missing segments count as folders.
 */
async function wayTo(path: string): Promise<string[]> {
  const places: string[] = [];
  const names = resolve(path).split(sep).filter(Boolean);
  let current = resolve('/');
  for (let links = 0; names.length > 0; ) {
    const name = names.shift() ?? '';
    if (name === '.' || name === '..') {
      if (name === '..') current = dirname(current);
      continue;
    }
    const place = join(current, name);
    places.push(place);
    const target = links < MAX_LINKS ? await readlink(place).catch(() => undefined) : undefined;
    if (target === undefined) {
      current = place;
      continue;
    }
    links++;
    if (isAbsolute(target)) current = resolve('/');
    names.unshift(...target.split(sep).filter(Boolean));
  }
  return [...places, current];
}
