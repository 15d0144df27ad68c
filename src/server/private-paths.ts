import { readlink, stat, statfs } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import { servedFolder } from '../config/config.ts';
import { type Config, SETTINGS } from '../config/settings.ts';
import { foldNames } from '../model/name-comparison.ts';
import { SettingsError } from '../settings/setting.ts';
import { isLocalFileSystem } from '../stores/disk/file-system.ts';
import { isReservedName } from '../stores/disk/reserved-names.ts';

/** Holdall's own files, and what users could read or change in them. */
const EXPOSED_DATA = {
  STATE_DIR: 'the signing key of all sessions and the database',
  ACCESS_FILE: 'password hashes and all permissions',
  AUDIT_LOG: 'the audit log',
  CACHE_DIR: 'thumbnails of private files',
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
      `${name} ${path} is inside ${served.setting}, where users could read or change ${EXPOSED_DATA[name]}. Choose a path outside ${resolve(served.path)}. Example: ${name}=${SETTINGS[name].example}`,
    );
  }
  for (const { variable, path } of config.secretFiles) {
    if (!(await isServed(path, served.path))) continue;
    problems.push(
      `${variable} ${path} is inside ${served.setting}, where users could read or change the secret. Choose a path outside ${resolve(served.path)}.`,
    );
  }
  if (problems.length > 0) throw new SettingsError(problems);
}

/**
 * Returns whether a path leads through the served folder or ends in it, except through its hidden folder. A link that
 * leads out of the served folder counts, because users with write permission can replace it.
 */
export async function isServed(path: string, diskRoot: string): Promise<boolean> {
  const root = (await resolvePathSteps(diskRoot)).at(-1) ?? resolve(diskRoot);
  const isRoot = await createFolderMatcher(root);
  const steps = await resolvePathSteps(path);
  for (const [index, step] of steps.entries()) {
    let below = '';
    for (let folder = step; ; folder = dirname(folder)) {
      if (await isRoot(folder)) {
        if (below === '' ? index === steps.length - 1 : !isReservedName(below)) return true;
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
async function createFolderMatcher(root: string): Promise<(folder: string) => Promise<boolean>> {
  const identity = await stat(root, { bigint: true }).catch(() => undefined);
  const type = await statfs(root).then(
    (found) => found.type,
    () => undefined,
  );
  const isCaseFolded = type !== undefined && !isLocalFileSystem(type);
  return async (folder) => {
    if (folder === root || (isCaseFolded && foldNames(folder) === foldNames(root))) return true;
    const found = identity && (await stat(folder, { bigint: true }).catch(() => undefined));
    return found !== undefined && found.dev === identity?.dev && found.ino === identity.ino;
  };
}

/** The number of symbolic links that Linux follows in one path. */
const MAX_SYMLINKS = 40;

/**
 * Returns the paths that the system resolves for `path`, each without symbolic links above it: every segment, every
 * link, and finally the target. Missing segments count as folders.
 */
async function resolvePathSteps(path: string): Promise<string[]> {
  const steps: string[] = [];
  const names = resolve(path).split(sep).filter(Boolean);
  let current = resolve('/');
  for (let links = 0; names.length > 0; ) {
    const name = names.shift() ?? '';
    if (name === '.' || name === '..') {
      if (name === '..') current = dirname(current);
      continue;
    }
    const step = join(current, name);
    steps.push(step);
    const target = links < MAX_SYMLINKS ? await readlink(step).catch(() => undefined) : undefined;
    if (target === undefined) {
      current = step;
      continue;
    }
    links++;
    if (isAbsolute(target)) current = resolve('/');
    names.unshift(...target.split(sep).filter(Boolean));
  }
  return [...steps, current];
}
